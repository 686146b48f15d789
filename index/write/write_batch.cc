// WriteBatch, Durability, Loading and CodesIn of the public API.
#include "base/enum_names.h"
#include "culmen/open.h"
#include "culmen/write.h"

namespace culmen {
namespace {

constexpr EnumNames<Durability, 3> kDurabilities = {
    "durability", {{{"sync", Durability::sync}, {"os", Durability::os}, {"batch", Durability::batch}}}};

constexpr EnumNames<Loading, 2> kLoadings = {"loading",
                                             {{{"whole", Loading::whole}, {"on_touch", Loading::on_touch}}}};

constexpr EnumNames<CodesIn, 3> kCodesIn = {
    "place of codes",
    {{{"files", CodesIn::files}, {"memory", CodesIn::memory}, {"device", CodesIn::device}}}};

}  // namespace

Durability parse_durability(std::string_view name) {
  return kDurabilities.parse(name);
}

std::string_view durability_name(Durability durability) {
  return kDurabilities.name(durability);
}

Loading parse_loading(std::string_view name) {
  return kLoadings.parse(name);
}

std::string_view loading_name(Loading loading) {
  return kLoadings.name(loading);
}

CodesIn parse_codes_in(std::string_view name) {
  return kCodesIn.parse(name);
}

std::string_view codes_in_name(CodesIn codes) {
  return kCodesIn.name(codes);
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

WriteBatch& WriteBatch::erase(std::span<const std::string_view> texts) {
  steps_.emplace_back(EraseTexts{texts});
  return *this;
}

WriteBatch& WriteBatch::erase_where(Filter where) {
  steps_.emplace_back(EraseWhere{std::move(where)});
  return *this;
}

}  // namespace culmen
