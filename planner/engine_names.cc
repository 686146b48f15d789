// Names of the engines, as the command line and answers write them.
#include "base/enum_names.h"
#include "culmen/search.h"

namespace culmen {
namespace {

constexpr EnumNames<Engine, 5> kEngines = {"engine",
                                           {{{"auto", Engine::automatic},
                                             {"scan", Engine::scan},
                                             {"ta", Engine::ta},
                                             {"gta", Engine::gta},
                                             {"bounded", Engine::bounded}}}};

}  // namespace

Engine parse_engine(std::string_view name) {
  return kEngines.parse(name);
}

std::string_view engine_name(Engine engine) {
  return kEngines.name(engine);
}

}  // namespace culmen
