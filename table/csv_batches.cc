#include "table/csv_batches.h"

#include <algorithm>
#include <chrono>
#include <functional>
#include <memory>
#include <string_view>
#include <vector>

#include "base/with_threads.h"
#include "culmen/error.h"
#include "table/csv_columns.h"
#include "table/csv_reader.h"
#include "table/json_lines.h"

namespace culmen::io {
namespace {

class BatchSink : public CsvRowSink {
 public:
  BatchSink(const std::string& name, const ReadOptions& options, const BatchOptions& batches,
            const std::function<void(const TableBatch&)>& take)
      : name_(name),
        options_(options),
        batches_(batches),
        take_(take),
        num_seen_(batches.skip_rows),
        first_row_(batches.skip_rows) {}

  void begin(const CsvSchema& schema, const std::vector<CellKinds>& first_rows) override;
  void take(const CsvWindow& window) override;
  bool lists_refused() const override { return true; }
  void wait() override;
  std::chrono::milliseconds patience() const override;
  BatchTotals finish();

 private:
  using Clock = std::chrono::steady_clock;

  void take_chunk(const CsvRows& chunk, std::uint64_t num_lines_before);
  void take_row(const CsvRows& chunk, std::size_t row, std::uint64_t num_lines_before);
  void take_refused(const CsvRows& chunk, std::uint64_t num_lines_before);
  void list_refused();
  void drop_row(const CsvRows& chunk, std::size_t drop);
  bool has_deadline() const { return batches_.max_delay && columns_.num_rows() > 0; }
  void hand_out_if_due();
  void hand_out();
  TableView view() const;
  ColumnView values_view(std::size_t column) const;

  const std::string& name_;
  const ReadOptions& options_;
  const BatchOptions& batches_;
  const std::function<void(const TableBatch&)>& take_;
  const CsvSchema* schema_ = nullptr;
  BatchTotals totals_;
  std::uint64_t num_seen_;            // rows of the input so far, the skipped ones included
  std::uint64_t line_ = 0;            // of the last of them that is kept, or the last line of what was seen
  std::vector<RejectedRow> refused_;  // not yet listed: the rows before them are in no batch
  int num_waits_ = 0;                 // since the last row

  // The batch that is being filled.
  std::uint64_t first_row_;
  Clock::time_point deadline_;  // if has_deadline()
  TableLayout layout_;
  CsvColumns columns_;
  std::size_t next_missing_ = 0;     // in the chunk
  std::size_t next_dropped_id_ = 0;  // so
  std::vector<std::int64_t> ids_;
  std::vector<std::uint64_t> dropped_rows_;
  DroppedIds dropped_ids_;
  RowLines lines_;
  Labels labels_;
};

void BatchSink::begin(const CsvSchema& schema, const std::vector<CellKinds>& first_rows) {
  schema_ = &schema;
  columns_.begin(schema);
  std::vector<CellKinds> kinds = first_rows;
  for (std::size_t i = 0; i < kinds.size(); ++i)
    if (schema.columns[i].type == CellType::number)
      kinds[i].add_number(true);  // later rows may have fractions
  layout_ = layout_of(schema.columns, kinds, name_, options_.is_partial);
  if (schema.label) labels_.offsets.push_back(0);
}

void BatchSink::take(const CsvWindow& window) {
  num_waits_ = 0;
  std::uint64_t num_lines = window.num_lines_before;
  for (const CsvRows& chunk : window.chunks) {
    take_refused(chunk, num_lines);
    take_chunk(chunk, num_lines);
    line_ = num_lines += chunk.num_lines;
  }
  hand_out_if_due();
  if (columns_.num_rows() == 0 && !refused_.empty()) hand_out();  // nothing will come before them
}

void BatchSink::take_chunk(const CsvRows& chunk, std::uint64_t num_lines_before) {
  std::size_t drop = 0;
  next_missing_ = next_dropped_id_ = 0;
  for (std::size_t row = 0; row < chunk.num_rows; ++row) {
    for (; drop < chunk.dropped_at.size() && chunk.dropped_at[drop] == row; ++drop) drop_row(chunk, drop);
    take_row(chunk, row, num_lines_before);
  }
  for (; drop < chunk.dropped_at.size(); ++drop) drop_row(chunk, drop);
  if (schema_->lists_refused) totals_.num_rejected_rows += chunk.faults.size();
}

void BatchSink::take_row(const CsvRows& chunk, std::size_t row, std::uint64_t num_lines_before) {
  ++num_seen_;
  if (schema_->id) ids_.push_back(chunk.ids[row]);
  line_ = num_lines_before + 1 + chunk.lines.line_of(row);
  lines_.add(columns_.num_rows(), line_);
  if (schema_->label) labels_.append(chunk.labels[row]);
  columns_.append_row(chunk, row, next_missing_);
  if (columns_.num_rows() == 1 && batches_.max_delay) deadline_ = Clock::now() + *batches_.max_delay;
  if (columns_.num_rows() == batches_.batch_rows) hand_out();
}

void BatchSink::take_refused(const CsvRows& chunk, std::uint64_t num_lines_before) {
  if (!schema_->lists_refused) return;
  for (const CsvFault& fault : chunk.faults)
    if (!fault.ends_reading)
      refused_.push_back({num_lines_before + fault.line + 1, fault.column, fault.what(), fault.row});
}

// Those among the rows that were handed out, so that reading may end, and continue, behind these.
void BatchSink::list_refused() {
  const auto end = std::ranges::find_if(refused_, [&](const RejectedRow& row) { return row.line > line_; });
  std::for_each(refused_.begin(), end, options_.on_rejected_row);
  refused_.erase(refused_.begin(), end);
}

void BatchSink::drop_row(const CsvRows& chunk, std::size_t drop) {
  ++num_seen_;
  ++totals_.num_dropped_rows;
  if (!schema_->id) dropped_rows_.push_back(num_seen_ - 1 - first_row_);
  if (next_dropped_id_ == chunk.dropped_ids.size() || chunk.dropped_ids[next_dropped_id_].drop != drop)
    return;
  dropped_ids_.append(chunk, next_dropped_id_++);
}

std::chrono::milliseconds BatchSink::patience() const {
  if (!has_deadline()) return kPatience;
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline_ - Clock::now());
  return std::clamp(left, std::chrono::milliseconds(0), kPatience);
}

void BatchSink::hand_out_if_due() {
  if (has_deadline() && Clock::now() >= deadline_) hand_out();
}

void BatchSink::wait() {
  if (batches_.max_delay) return hand_out_if_due();
  constexpr int kMaxWaits = 10;
  if (++num_waits_ == kMaxWaits && columns_.num_rows() > 0) hand_out();
}

void BatchSink::hand_out() {
  dropped_ids_.hand_out(options_.on_dropped_row);
  if (options_.unique_ids && schema_->id) check_csv_ids(ids_, *schema_->id_type, lines_, name_, *schema_);
  take_({view(), first_row_, num_seen_ - first_row_,
         [this](std::size_t row) { return place_of_line(name_, lines_.line_of(row)); }});
  if (!refused_.empty()) list_refused();
  totals_.num_rows += columns_.num_rows();
  first_row_ = num_seen_;
  columns_.clear();
  ids_.clear();
  dropped_rows_.clear();
  lines_.clear();
  labels_.bytes.clear();
  if (schema_->label) labels_.offsets.resize(1);
}

TableView BatchSink::view() const {
  TableView view;
  view.num_rows = columns_.num_rows();
  view.attributes = layout_.attributes;
  for (const std::size_t column : layout_.attribute_columns) view.columns.push_back(values_view(column));
  view.fields = layout_.fields;
  for (const std::size_t column : layout_.field_columns) {
    const CollectedColumn& collected = columns_[column];
    if (const Labels* const texts = std::get_if<Labels>(&collected.values)) {
      view.field_views.emplace_back(TextView{texts->view(), collected.validity_view()});
    } else {
      view.field_views.emplace_back(values_view(column));
    }
  }
  view.ids = ids_;
  if (schema_->id || schema_->texts_are_ids()) view.id_type = *schema_->id_type;
  view.labels = labels_.view();
  view.dropped_rows = dropped_rows_;
  if (schema_->id) view.id_name = schema_->names[*schema_->id];
  if (schema_->label)
    (schema_->texts_are_ids() ? view.id_name : view.label_name) = schema_->names[*schema_->label];
  return view;
}

ColumnView BatchSink::values_view(std::size_t column) const {
  const CollectedColumn& collected = columns_[column];
  const auto* const numbers = std::get_if<Array<double>>(&collected.values);
  ColumnView view =
      numbers != nullptr ? ColumnView(*numbers) : ColumnView(std::get<Array<std::int64_t>>(collected.values));
  view.validity = collected.validity_view();
  return view;
}

BatchTotals BatchSink::finish() {
  const bool has_dropped = !dropped_rows_.empty() || !dropped_ids_.empty();
  if (columns_.num_rows() > 0 || has_dropped || !refused_.empty()) hand_out();
  return totals_;
}

}  // namespace

namespace {

// While a pipe has no data.
std::function<void()> progress_of(const ByteSource& source, const ReadOptions& options) {
  return [&] {
    const Progress progress = source.progress();
    if (options.on_progress) options.on_progress(progress.done_bytes, progress.total_bytes);
  };
}

BatchTotals read_found(ByteSource& source, const std::string& name, const ReadOptions& options,
                       const FoundDialect& found, const BatchOptions& batches,
                       const std::function<void(const TableBatch&)>& take, const CsvTuning& tuning) {
  BatchTotals totals;
  ReadOptions with_id_type = options;  // ids of later batches cannot tell
  with_id_type.id_type = given_id_type(options).value_or(IdType::int64);
  with_threads(options.num_threads, [&] {
    BatchSink sink(name, options, batches, take);
    CsvParser parser(source, name, with_id_type, found, tuning, ReadPolicy::as_it_comes, true);
    parser.skip(batches.skip_rows);
    parser.hinting([&] {
      parser.parse(sink);
      parser.finish();
      totals = sink.finish();
    });
  });
  return totals;
}

// All of its rows, though some may be skipped then: the others are written as they were.
ReadSample sample_reader_of_batches(const std::string& name, const CsvTuning& tuning) {
  return [&name, &tuning](std::string_view text, const ReadOptions& options, const FoundDialect& found) {
    MemorySource source(text);
    read_found(
        source, name, options, found, {}, [](const TableBatch&) {}, tuning);
  };
}

}  // namespace

BatchTotals read_csv_in_batches(ByteSource& source, const std::string& name, const ReadOptions& options,
                                char delimiter, const BatchOptions& batches,
                                const std::function<void(const TableBatch&)>& take, const CsvTuning& tuning) {
  check_dialect(options.dialect);
  SampledSource sampled(source, kSampleBytes, progress_of(source, options));
  const FoundDialect found = find_dialect({sampled.sample(), sampled.is_whole()}, delimiter, options, name,
                                          sample_reader_of_batches(name, tuning));
  return read_found(sampled, name, options, found, batches, take, tuning);
}

BatchTotals read_json_lines_in_batches(std::unique_ptr<ByteSource> lines, const std::string& name,
                                       const ReadOptions& options, const BatchOptions& batches,
                                       const std::function<void(const TableBatch&)>& take,
                                       const CsvTuning& tuning) {
  const std::unique_ptr<ByteSource> csv = csv_of_json_lines(std::move(lines), name, options);
  SampledSource sampled(*csv, kSampleBytes, progress_of(*csv, options));
  const FoundDialect found = find_dialect_of_json_lines({sampled.sample(), sampled.is_whole()}, options, name,
                                                        sample_reader_of_batches(name, tuning));
  return read_found(sampled, name, options, found, batches, take, tuning);
}

}  // namespace culmen::io
