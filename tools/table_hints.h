// Options that the commands that read tables share: --nulls, and hints at it and others.
#pragma once

#include <string_view>

#include "culmen/error.h"
#include "culmen/table_io.h"

namespace culmen::tools {

NullPolicy parse_null_policy(std::string_view name);  // keep, reject, drop

// Call it inside a catch block. If an option would help (error.remedy()), throws the error with a text that names the
// option; otherwise rethrows it unchanged.
[[noreturn]] void throw_with_hint(const InputError& error);

}  // namespace culmen::tools
