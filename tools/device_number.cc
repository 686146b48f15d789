#include "tools/device_number.h"

#include <charconv>

#include "culmen/error.h"
#include "culmen/index.h"

namespace culmen::tools {

int parse_device(const std::string& text, const std::string& also) {
  if (text == "cpu") return kNoDevice;
  if (text == "cuda") return 0;
  int number = -1;
  if (text.starts_with("cuda:")) {
    const char* end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data() + 5, end, number);
    if (error == std::errc() && stop == end && number >= 0) return number;
  }
  throw InvalidArgument("--device takes " + also + "cpu, cuda or cuda:N, not \"" + text + "\"");
}

}  // namespace culmen::tools
