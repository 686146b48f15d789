#include "table/json_lines.h"

#include <simdjson.h>

#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "culmen/error.h"
#include "table/csv_schema.h"
#include "table/row_lines.h"
#include "table/text.h"

namespace culmen::io {
namespace {

namespace ondemand = simdjson::ondemand;

constexpr std::size_t kReadBytes = std::size_t{256} << 10;

bool is_json_blank(char c) {
  return c == ' ' || c == '\t' || c == '\r';
}

// Of the digits, signs, points and exponents of a token: those that other readers take, too.
bool is_json_number(std::string_view text) {
  if (text.find_first_not_of("0123456789+-.eE") != std::string_view::npos) return false;
  if (text.starts_with('-')) text.remove_prefix(1);
  const auto take_digits = [&text] {
    const std::size_t count = std::min(text.find_first_not_of("0123456789"), text.size());
    text.remove_prefix(count);
    return count;
  };
  const bool begins_with_0 = text.starts_with('0');
  const std::size_t num_digits = take_digits();
  if (num_digits == 0 || (begins_with_0 && num_digits > 1)) return false;
  if (text.starts_with('.')) {
    text.remove_prefix(1);
    if (take_digits() == 0) return false;
  }
  if (text.starts_with('e') || text.starts_with('E')) {
    text.remove_prefix(1);
    if (text.starts_with('+') || text.starts_with('-')) text.remove_prefix(1);
    if (take_digits() == 0) return false;
  }
  return text.empty();
}

void append_quoted(std::string_view text, std::string& out) {
  out += '"';
  for (;;) {
    const std::size_t quote = std::min(text.find('"'), text.size());
    out.append(text.substr(0, quote));
    if (quote == text.size()) break;
    out += "\"\"";
    text.remove_prefix(quote + 1);
  }
  out += '"';
}

// Columns whether the first lines name them or not. Attributes are not among them: rows all of which lack one are of another
// table, or were meant to change other columns alone.
std::vector<std::string> expected_names(const ReadOptions& options) {
  std::vector<std::string> names;
  if (!options.schema || options.is_partial) return names;
  for (const Field& field : options.schema->fields)
    if (!options.columns || std::ranges::find(*options.columns, field.name) != options.columns->end())
      names.push_back(field.name);
  return names;
}

class JsonLinesSource : public ByteSource {
 public:
  JsonLinesSource(std::unique_ptr<ByteSource> lines, std::string name, const ReadOptions& options)
      : lines_(std::move(lines)),
        name_(std::move(name)),
        expected_names_(expected_names(options)),
        has_index_(options.schema && !options.is_partial),
        has_choice_(options.columns.has_value()),
        lists_refused_lines_(options.on_rejected_row != nullptr) {}

  std::size_t read(char* out, std::size_t num_bytes) override {
    std::size_t done = take(out, num_bytes);
    while (done < num_bytes && !is_at_end_) {
      // The names of the columns are those of a megabyte.
      const std::size_t wanted = bytes_to_read(*lines_, names_.empty() ? kSampleBytes : kReadBytes);
      const std::size_t begin = pending_.size();
      pending_.resize(begin + wanted);
      pending_.resize(begin + lines_->read(pending_.data() + begin, wanted));
      is_at_end_ = pending_.size() < begin + wanted;
      transcode();
      done += take(out + done, num_bytes - done);
    }
    return done;
  }

  std::optional<std::size_t> read_available(char* out, std::size_t num_bytes,
                                            std::chrono::milliseconds patience) override {
    if (names_.empty() && lines_->num_bytes())
      return read(out, num_bytes);  // a file's first megabyte is there
    if (const std::size_t done = take(out, num_bytes); done > 0 || is_at_end_) return done;
    const std::size_t begin = pending_.size();
    pending_.resize(begin + kReadBytes);
    const std::optional<std::size_t> got =
        lines_->read_available(pending_.data() + begin, kReadBytes, patience);
    pending_.resize(begin + got.value_or(0));
    is_at_end_ = got == std::size_t{0};
    if (got) transcode();
    const std::size_t done = take(out, num_bytes);
    return done > 0 || is_at_end_ ? std::optional(done) : std::nullopt;
  }

  std::optional<std::uint64_t> num_bytes() const override { return std::nullopt; }

  bool rewind() override {
    if (!lines_->rewind()) return false;
    pending_.clear();
    ready_.clear();
    taken_ = 0;
    line_ = 0;
    has_header_ = is_at_end_ = false;
    return true;
  }

  Progress progress() const override { return lines_->progress(); }

 private:
  // The reader refuses the line with the others that it refuses.
  struct RefusedLine {
    std::string what;
  };
  [[noreturn]] static void refuse(std::string what) { throw RefusedLine{std::move(what)}; }
  [[noreturn]] void refuse_file(const std::string& what) const {
    throw InputError(place_of_line(name_, line_) + ": " + what);
  }

  std::size_t take(char* out, std::size_t num_bytes) {
    const std::size_t count = std::min(num_bytes, ready_.size() - taken_);
    if (count > 0) std::memcpy(out, ready_.data() + taken_, count);
    taken_ += count;
    if (taken_ == ready_.size()) {
      ready_.clear();
      taken_ = 0;
    }
    return count;
  }

  // Moves the complete lines of pending_ to ready_.
  void transcode() {
    pending_.reserve(pending_.size() + simdjson::SIMDJSON_PADDING);
    if (names_.empty()) find_names();
    if (!names_.empty() && !has_header_) add_expected_names();
    if (names_.empty()) {
      if (is_at_end_ || pending_.size() > kMaxLineBytes) refuse_nameless_file();
      return;
    }
    if (!has_header_) write_header();
    const std::size_t end = for_each_line([this](std::string_view line) { write_or_refuse(line); });
    pending_.erase(0, end);
    if (pending_.size() > kMaxLineBytes) refuse_long_line();
  }

  void refuse_nameless_file() {
    line_ = 1;
    if (first_fault_) throw InputError(*first_fault_);
    refuse_file(std::string("expected an object with names and values, found none") +
                (is_at_end_ ? "" : " in 16 MiB"));
  }

  void refuse_long_line() {
    ++line_;
    refuse_file("a line longer than 16 MiB");
  }

  // Returns the number of bytes of the lines. The last line of the file needs no line feed.
  std::size_t for_each_line(const auto& call) {
    std::size_t begin = 0;
    while (begin < pending_.size()) {
      std::size_t end = pending_.find('\n', begin);
      if (end == std::string::npos && !is_at_end_) break;
      end = std::min(end, pending_.size());
      ++line_;
      std::size_t first = begin, last = end;
      if (line_ == 1 && pending_.starts_with(kByteOrderMark)) first += kByteOrderMark.size();
      while (first < last && is_json_blank(pending_[first])) ++first;
      while (last > first && is_json_blank(pending_[last - 1])) --last;
      call(std::string_view(pending_.data() + first, last - first));
      begin = std::min(end + 1, pending_.size());
    }
    return begin;
  }

  // Calls take(name, value) for each member of the object.
  void for_each_member(std::string_view line, const auto& take_member) {
    ondemand::document document;
    const std::size_t room = pending_.capacity() - static_cast<std::size_t>(line.data() - pending_.data());
    ondemand::object object;
    if (const auto error = parser_.iterate(line.data(), line.size(), room).get(document)) refuse_json(error);
    if (const auto error = document.get_object().get(object)) {
      if (error == simdjson::INCORRECT_TYPE) refuse("expected an object, found " + quote_excerpt(line));
      refuse_json(error);
    }
    for (auto member : object) {
      std::string_view name;
      ondemand::value value;
      if (const auto error = member.unescaped_key().get(name)) refuse_json(error);
      if (const auto error = member.value().get(value)) refuse_json(error);
      take_member(name, value);
    }
    const char* rest = nullptr;
    if (document.current_location().get(rest) == simdjson::SUCCESS) refuse("text after the object");
  }

  [[noreturn]] static void refuse_json(simdjson::error_code error) {
    refuse(std::string("expected an object of JSON: ") + simdjson::error_message(error));
  }

  void find_names() {
    const std::uint64_t line_before = line_;
    for_each_line([this](std::string_view line) {
      if (!line.empty()) find_names_in(line);
    });
    line_ = line_before;
  }

  // Those of a line that is refused are none.
  void find_names_in(std::string_view line) {
    std::vector<std::string> found;
    try {
      for_each_member(line, [&](std::string_view name, ondemand::value& value) {
        static_cast<void>(cell_of(value));  // reads it, so that the next member is found
        if (!position_of_.contains(std::string(name))) found.emplace_back(name);
      });
    } catch (const RefusedLine& refused) {
      if (names_.empty()) note_fault_before_names(refused.what);
      return;
    }
    for (std::string& name : found) {
      if (!position_of_.emplace(name, names_.size()).second) continue;
      names_.push_back(std::move(name));
      if (names_.size() > kMaxColumns)
        refuse_file("expected at most " + std::to_string(kMaxColumns) + " names, found more");
    }
  }

  // The file may be no JSON at all. Where refused lines are listed, those that follow say so.
  void note_fault_before_names(const std::string& fault) {
    if (!lists_refused_lines_) refuse_file(fault);
    if (!first_fault_) first_fault_ = place_of_line(name_, line_) + ": " + fault;
  }

  void add_expected_names() {
    const auto nameless = position_of_.find("");
    const std::string by_place = nameless == position_of_.end() ? "" : name_by_place(nameless->second);
    for (const std::string& name : expected_names_)
      if (name != by_place && position_of_.emplace(name, names_.size()).second) names_.push_back(name);
  }

  void write_header() {
    has_header_ = true;
    for (const std::string& name : names_) {
      if (&name != names_.data()) ready_ += ',';
      append_quoted(name, ready_);
    }
    ready_ += '\n';
  }

  struct Cell {
    std::string_view text;
    bool is_quoted = false;
  };

  // Valid until the next line is read.
  Cell cell_of(ondemand::value& value) {
    ondemand::json_type type{};
    if (const auto error = value.type().get(type)) refuse_json(error);
    std::string_view text;
    switch (type) {
      case ondemand::json_type::string:
        if (const auto error = value.get_string().get(text)) refuse_json(error);
        return {text, true};
      case ondemand::json_type::array:
      case ondemand::json_type::object:
        if (const auto error = raw_text(value, type).get(text)) refuse_json(error);
        return {text, true};
      case ondemand::json_type::null: {
        bool is_null = false;
        if (value.is_null().get(is_null) != simdjson::SUCCESS || !is_null)
          refuse("a word that is none of JSON's");
        return {};
      }
      case ondemand::json_type::boolean: {
        bool is_true = false;
        if (const auto error = value.get_bool().get(is_true)) refuse_json(error);
        return {is_true ? "true" : "false"};
      }
      case ondemand::json_type::number:
        break;
    }
    text = value.raw_json_token();
    while (!text.empty() && (is_json_blank(text.back()) || text.back() == '\n')) text.remove_suffix(1);
    if (!is_json_number(text)) refuse("expected a number of JSON, found " + quote_excerpt(text));
    return {text};
  }

  static simdjson::simdjson_result<std::string_view> raw_text(ondemand::value& value,
                                                              ondemand::json_type type) {
    if (type == ondemand::json_type::array) {
      ondemand::array array;
      if (const auto error = value.get_array().get(array)) return error;
      return array.raw_json();
    }
    ondemand::object object;
    if (const auto error = value.get_object().get(object)) return error;
    return object.raw_json();
  }

  void write_or_refuse(std::string_view line) {
    const std::size_t num_bytes = ready_.size();
    try {
      write_line(line);
    } catch (const RefusedLine& refused) {
      ready_.resize(num_bytes);
      ready_.append(1, kRefusedLine).append(refused.what).append(1, kRefusedLine).append(line) += '\n';
    }
  }

  void write_line(std::string_view line) {
    if (line.empty()) {
      ready_ += " \n";  // no row, whereas an object without values may be a line of nothing
      return;
    }
    if (!write_in_order(line)) write_in_any_order(line);
    ready_ += '\n';
  }

  // Most objects have their members in the order of the columns, and may lack some. Returns false, and writes nothing, for another one.
  bool write_in_order(std::string_view line) {
    const std::size_t num_bytes = ready_.size();
    std::size_t next = 0, num_commas = 0;
    bool is_in_order = true;
    for_each_member(line, [&](std::string_view name, ondemand::value& value) {
      const Cell cell = cell_of(value);
      while (next < names_.size() && names_[next] != name) ++next;
      is_in_order = is_in_order && next < names_.size();
      if (!is_in_order) return;
      ready_.append(next - num_commas, ',');
      num_commas = next++;
      write_cell(cell);
    });
    if (is_in_order) {
      ready_.append(names_.size() - 1 - num_commas, ',');
    } else {
      ready_.resize(num_bytes);
    }
    return is_in_order;
  }

  void write_in_any_order(std::string_view line) {
    cells_.assign(names_.size(), std::nullopt);
    std::size_t expected = 0;  // most objects have their members in one order
    for_each_member(line, [&](std::string_view name, ondemand::value& value) {
      std::size_t position = expected;
      if (position >= names_.size() || names_[position] != name) {
        const auto found = position_of_.find(std::string(name));
        if (found == position_of_.end()) {
          if (!has_choice_) refuse_late_name(name);
          static_cast<void>(cell_of(value));  // reads it, so that the next member is found
          return;
        }
        position = found->second;
      }
      if (cells_[position]) refuse("the name " + quote_excerpt(name) + " appears twice");
      cells_[position] = cell_of(value);
      expected = position + 1;
    });
    for (std::size_t i = 0; i < cells_.size(); ++i) {
      if (i > 0) ready_ += ',';
      if (cells_[i]) write_cell(*cells_[i]);
    }
  }

  [[noreturn]] void refuse_late_name(std::string_view name) const {
    refuse((has_index_
                ? "the index has no column " + quote_excerpt(name)
                : "the name " + quote_excerpt(name) + " does not occur in the first megabyte of the file") +
           "; name the columns to keep, and it is left out");
  }

  void write_cell(const Cell& cell) {
    if (cell.is_quoted) {
      append_quoted(cell.text, ready_);
    } else {
      ready_.append(cell.text);
    }
  }

  std::unique_ptr<ByteSource> lines_;
  const std::string name_;
  ondemand::parser parser_;
  std::string pending_;  // lines not yet transcoded
  std::string ready_;    // CSV not yet taken
  std::size_t taken_ = 0;
  std::uint64_t line_ = 0;  // the current one, from 1
  bool has_header_ = false, is_at_end_ = false;
  const std::vector<std::string> expected_names_;
  const bool has_index_, has_choice_, lists_refused_lines_;
  std::optional<std::string> first_fault_;  // before any names
  std::vector<std::string> names_;
  std::unordered_map<std::string, std::size_t> position_of_;
  std::vector<std::optional<Cell>> cells_;
};

}  // namespace

std::unique_ptr<ByteSource> csv_of_json_lines(std::unique_ptr<ByteSource> lines, std::string name,
                                              const ReadOptions& options) {
  return std::make_unique<JsonLinesSource>(std::move(lines), std::move(name), options);
}

std::string object_of_row(std::span<const std::string> names, std::span<const CsvField> fields) {
  using Json = nlohmann::json;
  const auto text_of = [](std::string_view text) {
    return Json(text).dump(-1, ' ', false, Json::error_handler_t::replace);
  };
  std::string object = "{", scratch;
  for (std::size_t i = 0; i < std::min(names.size(), fields.size()); ++i) {
    const std::string_view value = field_value(fields[i], scratch);
    if (value.empty() && !fields[i].quoted) continue;
    if (object.size() > 1) object += ',';
    object.append(text_of(names[i])) += ':';
    object.append(fields[i].quoted ? text_of(value) : value);
  }
  return object + '}';
}

}  // namespace culmen::io
