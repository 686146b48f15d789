#include "base/text_id.h"

#include "base/excerpt.h"
#include "culmen/error.h"
#include "culmen/id_type.h"

namespace culmen {

std::string fault_of_text_id(std::string_view text) {
  if (text.size() > kMaxTextIdBytes)
    return "the id has " + std::to_string(text.size()) + " bytes, and at most " +
           std::to_string(kMaxTextIdBytes) + " can be an id: " + quote_excerpt(text);
  if (text.find('\0') != std::string_view::npos) return "the id has a NUL character: " + quote_excerpt(text);
  return {};
}

void check_text_id(std::string_view text) {
  if (const std::string fault = fault_of_text_id(text); !fault.empty()) throw InvalidArgument(fault);
}

}  // namespace culmen
