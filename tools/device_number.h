// Parses the names of GPUs on the command line.
#pragma once

#include <string>

namespace culmen::tools {

// Returns N for "cuda:N", 0 for "cuda", kNoDevice for "cpu". Throws InvalidArgument for any other text; `also`: other
// words that the option takes, for the message.
int parse_device(const std::string& text, const std::string& also = "");

}  // namespace culmen::tools
