// For the commands that take --nulls and --attributes.
#pragma once

#include "culmen/error.h"

namespace culmen::tools {

// Inside a catch block: throws the error again, naming the option that would help, if there is one.
[[noreturn]] void throw_with_hint(const InputError& error);

}  // namespace culmen::tools
