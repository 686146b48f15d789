// Cursors as text: 9.5,1000017 or 9.5,A-17, the score and the id of the last row of a page. A text of the id may have
// commas, and may be in quotes, as in CSV: 9.5,"a,b". One that is empty or begins with a quote has to be.
#pragma once

#include <string>
#include <string_view>

#include "culmen/id_type.h"
#include "culmen/query.h"
#include "culmen/search.h"

namespace culmen {

// Of the last hit, of which there is one.
std::string cursor_text(const SearchResult& result);

// Throws InvalidArgument with a text that calls it `what`.
Cursor parse_cursor(std::string_view text, std::string_view what, IdType type);

}  // namespace culmen
