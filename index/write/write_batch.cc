// The public types of changes.
#include <array>
#include <string>
#include <utility>

#include "culmen/error.h"
#include "culmen/open.h"
#include "culmen/write.h"

namespace culmen {
namespace {

constexpr std::array<std::pair<std::string_view, Durability>, 3> kDurabilities = {
    {{"sync", Durability::sync}, {"os", Durability::os}, {"batch", Durability::batch}}};

}  // namespace

Durability parse_durability(std::string_view name) {
  for (const auto& [text, durability] : kDurabilities)
    if (text == name) return durability;
  throw InvalidArgument("unknown durability \"" + std::string(name) + "\"; known: sync, os, batch");
}

std::string_view durability_name(Durability durability) {
  return kDurabilities[static_cast<std::size_t>(durability)].first;
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
