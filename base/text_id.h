// Which texts can be ids (culmen/id_type.h).
#pragma once

#include <string>
#include <string_view>

namespace culmen {

// Why a text, which is UTF-8, cannot be an id; empty if it can.
std::string fault_of_text_id(std::string_view text);

// Of a text that is looked up or erased. Throws InvalidArgument.
void check_text_id(std::string_view text);

}  // namespace culmen
