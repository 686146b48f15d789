#include "coding/known_names.h"

namespace culmen {

std::string known_names(const IndexInfo& info) {
  std::string names;
  for (const AttributeInfo& attribute : info.attributes)
    names += (names.empty() ? "" : ", ") + attribute.name;
  return names;
}

std::string known_columns(const IndexInfo& info) {
  std::string names = known_names(info);
  for (const FieldInfo& field : info.fields) names += (names.empty() ? "" : ", ") + field.field.name;
  return names;
}

}  // namespace culmen
