#include "gpu/search/pack_functions.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <variant>

#include "gpu/search/pack_predicate.h"
#include "query/resolve.h"

namespace culmen::gpu {
namespace {

template <typename Items>
void append_items(std::vector<std::byte>& bytes, const Items& items) {
  const auto added = std::as_bytes(std::span(items));
  bytes.insert(bytes.end(), added.begin(), added.end());
}

// Collects what functions refer to.
class FunctionPacker {
 public:
  explicit FunctionPacker(std::span<const RankSteps> curves) : curves_(curves) {}

  std::vector<PackedFunction> pack(const FunctionTerms& functions) {
    std::vector<PackedFunction> packed;
    for (const FunctionTerms::Term& term : functions.terms())
      packed.push_back(std::visit([this](const auto& one) { return pack(one); }, term));
    return packed;
  }

  // Returns where the predicate is.
  std::uint32_t append(const std::vector<std::byte>& predicate) {
    if (predicate.empty()) return PackedFunction::kEveryRow;
    const auto at = static_cast<std::uint32_t>(predicates_.size());
    predicates_.insert(predicates_.end(), predicate.begin(), predicate.end());
    return at;
  }

  std::span<const KeyWeight> weights() const { return weights_; }
  std::span<const std::byte> predicates() const { return predicates_; }

 private:
  PackedFunction pack(const NumberTerm& term) const {
    const NumberFunction& number = term;
    PackedFunction packed = {.kind = PackedFunction::Kind::number, .number = number};
    if (term.function == TermFunction::rank)
      packed.number.curve = curves_[static_cast<std::size_t>(term.column)];
    return packed;
  }

  PackedFunction pack(const CategoryTerm& term) {
    const auto first = static_cast<std::uint32_t>(weights_.size());
    weights_.insert(weights_.end(), term.weights.begin(), term.weights.end());
    return {.kind = PackedFunction::Kind::category,
            .field = term.field,
            .first = first,
            .num_weights = static_cast<std::uint32_t>(term.weights.size())};
  }

  PackedFunction pack(const ConditionTerm& term) {
    PackedFunction packed = {.kind = PackedFunction::Kind::condition, .weight = term.weight};
    packed.predicate_at = append(pack_whole_predicate(term.predicate));
    return packed;
  }

  std::span<const RankSteps> curves_;
  std::vector<KeyWeight> weights_;
  std::vector<std::byte> predicates_;
};

PackedJoint pack(const JointAttribute& attribute) {
  PackedJoint packed = {.cells = attribute.cells(),
                        .attribute = attribute.attribute(),
                        .padding = 0,
                        .highest = {},
                        .highest_of_block = {}};
  for (std::size_t cell = 0; cell < JointCells::kCells; ++cell) {
    packed.highest[cell] = attribute.highest_of_cell(cell);
    double& of_block = packed.highest_of_block[cell / PackedJoint::kBlock];
    of_block =
        cell % PackedJoint::kBlock == 0 ? packed.highest[cell] : std::max(of_block, packed.highest[cell]);
  }
  return packed;
}

// full: gets the values of groups that are full.
PackedPage page_of(const ResolvedQuery& query, std::vector<std::int64_t>& full) {
  PackedPage page;
  if (query.after) {
    page.after_score = query.after->score;
    page.after_id = query.after->id;
  }
  if (query.groups) {
    page.groups =
        query.groups->is_attribute ? PackedPage::Groups::of_attribute : PackedPage::Groups::of_field;
    page.column = query.groups->column;
    for (const GroupKey& group : query.groups->full) {
      if (group.is_missing) page.misses_too = 1;
      if (!group.is_missing) full.push_back(group.value);
    }
  }
  page.num_full = static_cast<std::uint32_t>(full.size());
  return page;
}

std::vector<PackedBoundTerm> pack(const BoundTerms& terms) {
  std::vector<PackedBoundTerm> packed;
  for (const BoundTerm& term : terms) packed.push_back({term.coefficient, term.row, 0});
  return packed;
}

}  // namespace

bool needs_functions(const ResolvedQuery& query) {
  return !query.functions.empty() || query.after || query.groups;
}

bool needs_functions(const Query& query) {
  return has_functions(query) || query.after || query.per;
}

bool ranks_attributes(const FunctionTerms& functions) {
  return std::ranges::any_of(functions.terms(), [](const FunctionTerms::Term& term) {
    const auto* number = std::get_if<NumberTerm>(&term);
    return number != nullptr && number->function == TermFunction::rank;
  });
}

std::vector<std::byte> pack_functions(const ResolvedQuery& query, std::span<const RankSteps> curves) {
  FunctionPacker packer(curves);
  const std::vector<PackedFunction> functions = packer.pack(query.functions);
  std::vector<PackedFunction> joint_functions;
  std::vector<PackedJoint> attributes;
  std::vector<PackedBoundTerm> terms, capped_terms;
  double base = HUGE_VAL, capped_base = HUGE_VAL;
  if (query.joint) {
    joint_functions = packer.pack(query.joint->functions);
    for (const JointAttribute& attribute : query.joint->attributes) attributes.push_back(pack(attribute));
    const TangentBound& bound = query.joint->bounds.front();
    for (const TangentTerm& tangent : bound.tangents) attributes.push_back(pack(JointAttribute(tangent)));
    base = bound.plan.base;
    terms = pack(bound.plan.terms);
    if (bound.plan.capped) {
      capped_base = bound.plan.capped->base;
      capped_terms = pack(bound.plan.capped->terms);
    }
  }
  const std::uint32_t filter_at = packer.append(pack_predicate(query.filter));
  std::vector<std::int64_t> full;
  const PackedPage page = page_of(query, full);
  const auto size_of = [](const auto& items) { return static_cast<std::uint32_t>(items.size()); };
  const PackedFunctions header = {.joint_base = base,
                                  .capped_joint_base = capped_base,
                                  .page = page,
                                  .num_functions = size_of(functions),
                                  .num_joint_functions = size_of(joint_functions),
                                  .num_joint_attributes = size_of(attributes),
                                  .num_joint_terms = size_of(terms),
                                  .num_capped_joint_terms = size_of(capped_terms),
                                  .num_weights = size_of(packer.weights()),
                                  .filter_at = filter_at};
  std::vector<std::byte> bytes;
  append_items(bytes, std::span(&header, 1));
  append_items(bytes, functions);
  append_items(bytes, joint_functions);
  append_items(bytes, attributes);
  append_items(bytes, terms);
  append_items(bytes, capped_terms);
  append_items(bytes, packer.weights());
  append_items(bytes, full);
  append_items(bytes, packer.predicates());
  return bytes;
}

}  // namespace culmen::gpu
