#include "index/storage/json.h"

#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

#include "culmen/error.h"
#include "index/storage/format.h"

namespace culmen::storage {
namespace {

using Kind = JsonValue::Kind;

// Receives the events of the library's parser. `open_` are the arrays and objects around the next value. They do not
// move, because only the innermost one grows.
class Builder : public nlohmann::json_sax<nlohmann::json> {
 public:
  Builder(const std::string& path, std::size_t max_depth, std::size_t max_values)
      : path_(path), max_depth_(max_depth), values_left_(max_values) {}

  JsonValue take() { return std::move(root_); }

  bool null() override {
    add(Kind::null);
    return true;
  }
  bool boolean(bool value) override {
    add(Kind::boolean).boolean = value;
    return true;
  }
  bool number_integer(number_integer_t value) override {
    add(Kind::integer).integer = value;
    return true;
  }
  bool number_unsigned(number_unsigned_t value) override {
    constexpr std::uint64_t kMaxInteger = std::numeric_limits<std::int64_t>::max();
    if (value > kMaxInteger) {
      add(Kind::other_number);
    } else {
      add(Kind::integer).integer = static_cast<std::int64_t>(value);
    }
    return true;
  }
  bool number_float(number_float_t, const string_t&) override {
    add(Kind::other_number);
    return true;
  }
  bool string(string_t& value) override {
    add(Kind::string).text = std::move(value);
    return true;
  }
  bool binary(binary_t&) override { return false; }  // does not occur in JSON text
  bool start_object(std::size_t) override {
    open_.push_back(&add(Kind::object));
    return true;
  }
  bool key(string_t& value) override {
    key_ = std::move(value);
    return true;
  }
  bool end_object() override {
    open_.pop_back();
    return true;
  }
  bool start_array(std::size_t) override {
    open_.push_back(&add(Kind::array));
    return true;
  }
  bool end_array() override {
    open_.pop_back();
    return true;
  }
  bool parse_error(std::size_t position, const std::string&, const nlohmann::detail::exception&) override {
    throw_damaged(path_, position, "not valid JSON");
  }

 private:
  JsonValue& add(Kind kind) {
    if (open_.size() > max_depth_ || values_left_ == 0)
      throw FormatError(path_ + ": not a manifest: nested too deeply or too long");
    --values_left_;
    JsonValue& value = open_.empty() ? root_ : open_.back()->values.emplace_back();
    value.kind = kind;
    value.key = std::exchange(key_, {});
    return value;
  }

  const std::string& path_;
  const std::size_t max_depth_;
  std::size_t values_left_;
  JsonValue root_;
  std::vector<JsonValue*> open_;
  std::string key_;
};

}  // namespace

JsonValue parse_json(const std::string& text, const std::string& path, std::size_t max_depth,
                     std::size_t max_values) {
  Builder builder(path, max_depth, max_values);
  if (!nlohmann::json::sax_parse(text, &builder)) throw FormatError(path + ": not valid JSON");
  return builder.take();
}

}  // namespace culmen::storage
