#include "tools/table_hints.h"

#include <string>

namespace culmen::tools {

void throw_with_hint(const InputError& error) {
  const std::string text = error.what();
  switch (error.remedy()) {
    case InputError::Remedy::drop_nulls:
      throw InputError(text + " (--nulls drop leaves such rows out)");
    case InputError::Remedy::choose_columns:
      throw InputError(text + " (name the columns to read with --attributes)");
    case InputError::Remedy::none:
      break;
  }
  throw;
}

}  // namespace culmen::tools
