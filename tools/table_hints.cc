#include "tools/table_hints.h"

#include <string>

namespace culmen::tools {

NullPolicy parse_null_policy(std::string_view name) {
  if (name == "drop") return NullPolicy::drop;
  return name == "reject" ? NullPolicy::reject : NullPolicy::keep;
}

void throw_with_hint(const InputError& error) {
  const std::string text = error.what();
  switch (error.remedy()) {
    case InputError::Remedy::drop_nulls:
      throw InputError(text + " (--nulls drop leaves such rows out)");
    case InputError::Remedy::choose_attributes:
      throw InputError(text + " (--attributes names the columns to rank, --columns those to keep)");
    case InputError::Remedy::choose_columns:
      throw InputError(text + " (--columns names the columns to keep)");
    case InputError::Remedy::give_decimal:
      throw InputError(text + " (--decimal point or --decimal comma says so)");
    case InputError::Remedy::give_header:
      throw InputError(text + " (--header yes or --header no says so)");
    case InputError::Remedy::give_dates:
      throw InputError(text + " (--dates day-first or --dates month-first says so)");
    case InputError::Remedy::give_id_type:
      throw InputError(text + " (build --id-type text takes ids as texts, --id-type int64 as numbers)");
    case InputError::Remedy::list_rejected:
      throw InputError(text + " (--rejects FILE leaves such rows out)");
    case InputError::Remedy::none:
      break;
  }
  throw;
}

}  // namespace culmen::tools
