// Hints for the commands that take --nulls and --attributes.
#pragma once

#include "culmen/error.h"

namespace culmen::tools {

// Call it inside a catch block: rethrows the error, with the option that would help, if there is one.
[[noreturn]] void throw_with_hint(const InputError& error);

}  // namespace culmen::tools
