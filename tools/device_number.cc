#include "tools/device_number.h"

#include <charconv>
#include <string_view>

#include "culmen/error.h"
#include "culmen/index.h"

namespace culmen::tools {
namespace {

// Returns false, and any number, for text that is not a number.
bool parse_number_of(std::string_view text, int& number) {
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  return error == std::errc() && stop == end && number >= 0;
}

// The numbers in "cuda:0,2"; none for other text.
std::vector<int> numbers_of(std::string_view text) {
  constexpr std::string_view kPrefix = "cuda:";
  std::vector<int> numbers;
  if (!text.starts_with(kPrefix)) return numbers;
  text.remove_prefix(kPrefix.size());
  for (;;) {
    const std::size_t comma = text.find(',');
    if (!parse_number_of(text.substr(0, comma), numbers.emplace_back())) return {};
    if (comma == std::string_view::npos) return numbers;
    text.remove_prefix(comma + 1);
  }
}

}  // namespace

int parse_device(const std::string& text, const std::string& also, const std::string& option) {
  if (text == "cpu") return kNoDevice;
  if (text == "cuda") return 0;
  if (const std::vector<int> numbers = numbers_of(text); numbers.size() == 1) return numbers.front();
  throw InvalidArgument(option + " takes " + also + "cpu, cuda or cuda:N, not \"" + text + "\"");
}

std::vector<int> parse_devices(const std::string& text, const std::string& also) {
  if (std::vector<int> numbers = numbers_of(text); numbers.size() > 1) return numbers;
  return {parse_device(text, "cuda:N,M,... for several GPUs, " + also)};
}

}  // namespace culmen::tools
