// GPUs as the command line names them.
#pragma once

#include <string>

namespace culmen::tools {

// The number in "cuda:N", 0 in "cuda"; kNoDevice for "cpu". `also`: other words that the option takes, for
// the message of the InvalidArgument that any other text throws.
int parse_device(const std::string& text, const std::string& also = "");

}  // namespace culmen::tools
