// Cursors as text: "9.5,1000017", the score and the id of the last row of a page.
#pragma once

#include <string>
#include <string_view>

#include "culmen/id_type.h"
#include "culmen/query.h"
#include "culmen/search.h"

namespace culmen {

std::string cursor_text(const Hit& hit, IdType type);

// Throws InvalidArgument with a text that calls it `what`.
Cursor parse_cursor(std::string_view text, std::string_view what, IdType type);

}  // namespace culmen
