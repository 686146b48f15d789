#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/excerpt.h"
#include "base/quoted.h"
#include "culmen/error.h"
#include "culmen/table_io.h"
#include "table/column_selection.h"
#include "table/text.h"

namespace culmen {
namespace {

// Reads "name[:low|:high]{,name[:low|:high]}" from left to right; a name in double quotes may contain any character.
class AttributeListParser {
 public:
  explicit AttributeListParser(std::string_view text) : text_(text), rest_(text) {}

  std::vector<Attribute> parse() {
    std::vector<Attribute> attributes;
    do {
      Attribute attribute;
      attribute.name = take_name();
      if (take(':')) attribute.preference = take_preference();
      attributes.push_back(std::move(attribute));
    } while (take(','));
    if (!rest_.empty()) fail("expected a comma or the end, found " + quote_excerpt(rest_));
    if (const auto repeated = io::find_repeated_name(attributes)) {
      fail("attribute " + quote_excerpt(attributes[*repeated].name) + " is named twice");
    }
    return attributes;
  }

 private:
  void skip_blanks() { rest_ = io::trim_blanks(rest_); }

  bool take(char wanted) {
    skip_blanks();
    if (rest_.empty() || rest_.front() != wanted) return false;
    rest_.remove_prefix(1);
    return true;
  }

  std::string take_name() {
    std::string name = take('"') ? take_quoted_name() : std::string(take_plain());
    if (name.empty()) fail("expected an attribute name, found none");
    return name;
  }

  std::string take_quoted_name() {
    std::optional<std::string> name = take_quoted(rest_);
    if (!name) fail("a quote is never closed");
    return *std::move(name);
  }

  std::string_view take_plain() {
    skip_blanks();
    const std::size_t num_bytes = std::min(rest_.find_first_of(":,"), rest_.size());
    const std::string_view name = io::trim_blanks(rest_.substr(0, num_bytes));
    rest_.remove_prefix(num_bytes);
    return name;
  }

  Preference take_preference() {
    const std::string_view word = take_plain();
    if (word == "low") return Preference::low;
    if (word == "high") return Preference::high;
    fail("expected \"low\" or \"high\" after the colon, found " + quote_excerpt(word) +
         " (a name that holds a colon or a comma goes in double quotes)");
  }

  [[noreturn]] void fail(const std::string& what) const {
    throw InvalidArgument("attributes " + quote_excerpt(text_) + ": " + what);
  }

  std::string_view text_;
  std::string_view rest_;
};

}  // namespace

std::vector<Attribute> parse_attributes(std::string_view text) {
  return AttributeListParser(text).parse();
}

}  // namespace culmen
