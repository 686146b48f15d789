// WriteBatch and Durability of the public API.
#include "base/enum_names.h"
#include "culmen/open.h"
#include "culmen/write.h"

namespace culmen {
namespace {

constexpr EnumNames<Durability, 3> kDurabilities = {
    "durability", {{{"sync", Durability::sync}, {"os", Durability::os}, {"batch", Durability::batch}}}};

}  // namespace

Durability parse_durability(std::string_view name) {
  return kDurabilities.parse(name);
}

std::string_view durability_name(Durability durability) {
  return kDurabilities.name(durability);
}

WriteBatch& WriteBatch::insert(TableView rows) {
  steps_.emplace_back(Insert{std::move(rows)});
  return *this;
}

WriteBatch& WriteBatch::upsert(TableView rows) {
  steps_.emplace_back(Upsert{std::move(rows)});
  return *this;
}

WriteBatch& WriteBatch::erase(std::span<const std::int64_t> ids) {
  steps_.emplace_back(Erase{ids});
  return *this;
}

}  // namespace culmen
