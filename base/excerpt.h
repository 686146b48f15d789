// Texts of users in messages.
#pragma once

#include <string>
#include <string_view>

namespace culmen {

// `text` in double quotes for an error message: shortened, with control and broken bytes as \xNN.
std::string quote_excerpt(std::string_view text);

}  // namespace culmen
