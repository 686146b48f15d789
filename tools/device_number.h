// Parses the names of GPUs on the command line.
#pragma once

#include <string>
#include <vector>

namespace culmen::tools {

// Returns N for "cuda:N", 0 for "cuda", kNoDevice for "cpu". Throws InvalidArgument for any other text; `also`: other
// words that the option takes, for the message, like the option's name.
int parse_device(const std::string& text, const std::string& also = "",
                 const std::string& option = "--device");

// The numbers of "cuda:0,2", or that of parse_device(). Throws as it does.
std::vector<int> parse_devices(const std::string& text, const std::string& also = "");

}  // namespace culmen::tools
