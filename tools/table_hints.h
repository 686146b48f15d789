// Hints at --nulls and --attributes, for the commands that read tables.
#pragma once

#include "culmen/error.h"

namespace culmen::tools {

// Call it inside a catch block. If an option would help (error.remedy()), throws the error with a text that names the
// option; otherwise rethrows it unchanged.
[[noreturn]] void throw_with_hint(const InputError& error);

}  // namespace culmen::tools
