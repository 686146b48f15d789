// The terms of a query's score besides its weights (query/function_terms.h), what bounds them, and the predicate of its filter,
// as kernels read them: one piece of device memory.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "base/host_device.h"
#include "gpu/search/packed_predicate.h"
#include "gpu/search/packed_query.h"
#include "query/category_weights.h"
#include "query/joint_cells.h"
#include "query/number_function.h"

namespace culmen::gpu {

struct PackedFunction {
  enum class Kind : std::uint8_t { number, category, condition };
  static constexpr std::uint32_t kEveryRow = 0xffffffff;  // passes: instead of a predicate

  Kind kind = Kind::number;
  std::int32_t field = 0;                    // category: its column
  std::uint32_t first = 0, num_weights = 0;  // category: of PackedFunctions::weights()
  std::uint32_t predicate_at = kEveryRow;    // condition: bytes from PackedFunctions::predicates() on
  double weight = 0;                         // condition
  NumberFunction number = {};                // its curve is in device memory
};
static_assert(std::is_trivially_copyable_v<PackedFunction>);

// As JointAttribute.
struct PackedJoint {
  static constexpr std::uint32_t kBlock = 8;  // cells

  JointCells cells;
  std::int32_t attribute, padding;
  double highest[JointCells::kCells];                    // of values of a cell
  double highest_of_block[JointCells::kCells / kBlock];  // of kBlock cells

  CULMEN_HOST_DEVICE double highest_of(double first, double last) const {
    std::uint32_t cell = cells.cell_of(first);
    const std::uint32_t end = cells.cell_of(last) + 1;
    double most = highest[cell];
    while (cell < end) {
      const bool is_block = cell % kBlock == 0 && cell + kBlock <= end;
      const double here = is_block ? highest_of_block[cell / kBlock] : highest[cell];
      most = here > most ? here : most;
      cell += is_block ? kBlock : 1;
    }
    return most;
  }
};

// Which rows are on earlier pages, or of groups that are full.
struct PackedPage {
  enum class Groups : std::uint32_t { none, of_attribute, of_field };

  double after_score = HUGE_VAL;  // no score is higher: there is no earlier page
  std::int64_t after_id = 0;
  Groups groups = Groups::none;
  std::int32_t column = 0;       // whose values divide rows into groups
  std::uint32_t num_full = 0;    // groups with a value: of PackedFunctions::full_groups()
  std::uint32_t misses_too = 0;  // 1: the group of rows without a value is full
};

// Followed by the score's functions, in the order in which they are added; those of the joint bound (JointTerms::functions);
// its attributes; the terms of its plan, and of that under caps; weights of categories; values of full groups, ascending;
// and predicates.
struct PackedFunctions {
  double joint_base = HUGE_VAL, capped_joint_base = HUGE_VAL;  // infinity: there is no such plan
  PackedPage page;
  std::uint32_t num_functions = 0, num_joint_functions = 0, num_joint_attributes = 0, num_joint_terms = 0,
                num_capped_joint_terms = 0, num_weights = 0;
  std::uint32_t filter_at =
      PackedFunction::kEveryRow;  // as PackedFunction::predicate_at: what ranges leave open

  CULMEN_HOST_DEVICE const PackedFunction* functions() const {
    return reinterpret_cast<const PackedFunction*>(this + 1);
  }
  CULMEN_HOST_DEVICE const PackedFunction* joint_functions() const { return functions() + num_functions; }
  CULMEN_HOST_DEVICE const PackedJoint* joint_attributes() const {
    return reinterpret_cast<const PackedJoint*>(joint_functions() + num_joint_functions);
  }
  CULMEN_HOST_DEVICE const PackedBoundTerm* joint_terms() const {
    return reinterpret_cast<const PackedBoundTerm*>(joint_attributes() + num_joint_attributes);
  }
  CULMEN_HOST_DEVICE const PackedBoundTerm* capped_joint_terms() const {
    return joint_terms() + num_joint_terms;
  }
  CULMEN_HOST_DEVICE const KeyWeight* weights() const {
    return reinterpret_cast<const KeyWeight*>(capped_joint_terms() + num_capped_joint_terms);
  }

  CULMEN_HOST_DEVICE const std::int64_t* full_groups() const {
    return reinterpret_cast<const std::int64_t*>(weights() + num_weights);
  }

  CULMEN_HOST_DEVICE const std::byte* predicates() const {
    return reinterpret_cast<const std::byte*>(full_groups() + page.num_full);
  }

  CULMEN_HOST_DEVICE CategoryWeights category(const PackedFunction& function) const {
    return {weights() + function.first, function.num_weights};
  }
  CULMEN_HOST_DEVICE bool has_page() const {
    return page.after_score < HUGE_VAL || page.groups != PackedPage::Groups::none;
  }
  // Null: every row passes.
  CULMEN_HOST_DEVICE const PackedPredicate* predicate(const PackedFunction& function) const {
    return predicate(function.predicate_at);
  }
  CULMEN_HOST_DEVICE const PackedPredicate* filter() const { return predicate(filter_at); }

 private:
  CULMEN_HOST_DEVICE const PackedPredicate* predicate(std::uint32_t at) const {
    if (at == PackedFunction::kEveryRow) return nullptr;
    return reinterpret_cast<const PackedPredicate*>(predicates() + at);
  }
};
static_assert(sizeof(PackedFunctions) == 80);

// Of a query, for kernels of its kind.
template <QueryKind kKind>
CULMEN_HOST_DEVICE const PackedPredicate* predicate_of(QueryRef query) {
  if constexpr (kKind == QueryKind::with_functions) {
    return query.functions()->filter();
  } else {
    return query.predicate();
  }
}

}  // namespace culmen::gpu
