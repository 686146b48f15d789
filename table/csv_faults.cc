#include "table/csv_faults.h"

#include <algorithm>
#include <utility>

#include "base/calendar.h"
#include "table/text.h"

namespace culmen::io {
namespace {

std::string_view unit_name(TimeUnit unit) {
  switch (unit) {
    case TimeUnit::second:
      return "seconds";
    case TimeUnit::millisecond:
      return "milliseconds";
    case TimeUnit::microsecond:
      return "microseconds";
    case TimeUnit::nanosecond:
      break;
  }
  return "nanoseconds";
}

std::string place_of(const std::string& name, std::uint64_t line, std::size_t column) {
  std::string place = name + ":" + std::to_string(line);
  if (column > 0) place.append(":").append(std::to_string(column));
  return place + ": ";
}

// Reading has ended, and every line until then was refused: the column is the fault, and without its rows there is no
// table.
bool are_all_rows(const std::vector<CsvFault>& faults, bool ends_reading) {
  return ends_reading && faults.front().line <= 2 && faults.back().line - faults.front().line < faults.size();
}

// What helps with all of the faults, or tells how to read them.
InputError::Remedy remedy_of(const std::vector<CsvFault>& faults, bool ends_reading) {
  using Remedy = InputError::Remedy;
  const auto helps_alone = [](Remedy remedy) {
    return remedy == Remedy::drop_nulls || remedy == Remedy::give_id_type;
  };
  const Remedy first = faults.front().remedy;
  const bool is_for_all =
      std::ranges::all_of(faults, [&](const CsvFault& fault) { return fault.remedy == first; });
  if (is_for_all && helps_alone(first)) return first;
  for (const CsvFault& fault : faults)
    if (fault.remedy != Remedy::none && !helps_alone(fault.remedy)) return fault.remedy;
  return faults.size() > 1 && !are_all_rows(faults, ends_reading) ? Remedy::list_rejected : Remedy::none;
}

std::string counted_faults(std::size_t count) {
  return std::to_string(count) + (count == 1 ? " time " : " times ");
}

}  // namespace

std::string expected_text(const CsvColumn& column) {
  switch (column.type) {
    case CellType::number:
      return "a number";
    case CellType::integer:
      return "an integer";
    case CellType::boolean:
      return "true or false";
    case CellType::date:
      return "a date as in 2025-06-01";
    case CellType::timestamp:
      return column.has_zone ? "a timestamp with a zone, as in 2025-06-01 12:30:00Z"
                             : "a timestamp without a zone, as in 2025-06-01 12:30:00";
    case CellType::text:
      break;
  }
  return "UTF-8 text";
}

std::string reason_of(const CsvColumn& column, const CellForm& form, NumberKind kind, std::string_view text) {
  if (column.type == CellType::number && kind == NumberKind::not_a_number) {
    std::string scratch;
    const CellNumber number = form.read_number(text, scratch);
    if (number.is_ambiguous)
      return ": nothing says whether its mark is a decimal one or one between thousands";
    if (number.number.kind != NumberKind::finite || !column.form.unit || number.unit == *column.form.unit)
      return "";
    const std::string_view unit = unit_sign(*column.form.unit);
    return unit.empty() ? ", and other numbers have no unit"
                        : std::string(", and other numbers are in ").append(unit);
  }
  if (column.type == CellType::timestamp) {
    std::string scratch;
    const auto timestamp = parse_timestamp(form.iso_time(trim_blanks(text), scratch));
    if (!timestamp || timestamp->has_zone != column.has_zone) return "";
    return std::string(", and the column counts in ").append(unit_name(column.unit));
  }
  if (kind == NumberKind::out_of_range)
    return column.type == CellType::integer ? ", beyond the range of int64" : ", beyond the range of float64";
  if (kind == NumberKind::inexact_integer) return ", an integer beyond 2^53 that float64 cannot hold exactly";
  return "";
}

void throw_csv_fault(const std::string& name, std::uint64_t line, std::size_t column, const std::string& what,
                     InputError::Remedy remedy) {
  throw InputError(place_of(name, line, column) + what, remedy);
}

void RefusedRows::add(CsvFault fault, std::uint64_t num_lines_before) {
  fault.line += num_lines_before + 1;
  if (fault.ends_reading && are_listed()) throw_csv_fault(name_, fault.line, fault.column, fault.what());
  faults_.push_back(std::move(fault));
}

void RefusedRows::finish() {
  if (empty()) return;
  if (!are_listed()) refuse();
  for (CsvFault& fault : faults_)
    options_.on_rejected_row({fault.line, fault.column, fault.what(), std::move(fault.row)});
  faults_.clear();
}

// One error for all: the first of them whole, the others counted by kind.
void RefusedRows::refuse() const {
  constexpr std::size_t kMaxShown = 10;
  const std::size_t num_shown = std::min(faults_.size(), kMaxShown);
  std::string text;
  for (std::size_t i = 0; i < num_shown; ++i) {
    const CsvFault& fault = faults_[i];
    if (i > 0) text += '\n';
    text += place_of(name_, fault.line, fault.column) + fault.what();
  }
  std::vector<std::pair<std::string_view, std::size_t>> counts;
  for (std::size_t i = num_shown; i < faults_.size(); ++i) {
    const auto known = std::find_if(counts.begin(), counts.end(),
                                    [&](const auto& kind) { return kind.first == faults_[i].expected; });
    if (known == counts.end()) {
      counts.emplace_back(faults_[i].expected, 1);
    } else {
      ++known->second;
    }
  }
  if (!counts.empty())
    text += "\nand " + std::to_string(faults_.size() - num_shown) + " more" +
            (ends_reading() ? " up to line " + std::to_string(faults_.back().line) + ", where reading ended"
                            : "");
  for (std::size_t i = 0; i < counts.size(); ++i)
    text.append(i == 0 ? ": " : "; ").append(counted_faults(counts[i].second)).append(counts[i].first);
  throw InputError(text, remedy_of(faults_, ends_reading()));
}

}  // namespace culmen::io
