#include "table/csv_batches.h"

#include <span>
#include <vector>

#include "base/with_threads.h"
#include "culmen/error.h"
#include "table/csv_reader.h"

namespace culmen::io {
namespace {

class BatchSink : public CsvRowSink {
 public:
  BatchSink(const std::string& name, const ReadOptions& options, const BatchOptions& batches,
            const std::function<void(const TableBatch&)>& take)
      : name_(name), options_(options), batches_(batches), take_(take) {}

  void begin(const CsvSchema& schema) override;
  void take(const CsvWindow& window) override;
  void wait() override;
  BatchTotals finish();

 private:
  void take_chunk(const CsvRows& chunk, std::uint64_t num_lines_before);
  void take_row(const CsvRows& chunk, std::size_t row, std::size_t label_begin,
                std::uint64_t num_lines_before);
  void drop_row();
  void hand_out();
  TableView view() const;

  const std::string& name_;
  const ReadOptions& options_;
  const BatchOptions& batches_;
  const std::function<void(const TableBatch&)>& take_;
  const CsvSchema* schema_ = nullptr;
  BatchTotals totals_;
  std::uint64_t num_seen_ = 0;  // rows of the input so far
  int num_waits_ = 0;           // since the last row

  // The batch that is being filled.
  std::uint64_t first_row_ = 0;
  std::size_t num_rows_ = 0;
  std::vector<std::vector<double>> columns_;
  std::vector<std::int64_t> ids_;
  std::vector<std::uint64_t> dropped_rows_;
  RowLines lines_;
  Labels labels_;
};

void BatchSink::begin(const CsvSchema& schema) {
  schema_ = &schema;
  columns_.resize(schema.selection.columns.size());
  if (schema.selection.label) labels_.offsets.push_back(0);
}

void BatchSink::take(const CsvWindow& window) {
  num_waits_ = 0;
  std::uint64_t num_lines = window.num_lines_before;
  for (const CsvRows& chunk : window.chunks) {
    take_chunk(chunk, num_lines);
    num_lines += chunk.num_lines;
  }
}

void BatchSink::take_chunk(const CsvRows& chunk, std::uint64_t num_lines_before) {
  auto dropped = chunk.dropped_at.begin();
  std::size_t label_begin = 0;
  for (std::size_t row = 0; row < chunk.num_rows; ++row) {
    for (; dropped != chunk.dropped_at.end() && *dropped == row; ++dropped) drop_row();
    take_row(chunk, row, label_begin, num_lines_before);
    if (schema_->selection.label) label_begin += chunk.label_sizes[row];
  }
  for (; dropped != chunk.dropped_at.end(); ++dropped) drop_row();
}

void BatchSink::take_row(const CsvRows& chunk, std::size_t row, std::size_t label_begin,
                         std::uint64_t num_lines_before) {
  if (num_seen_++ < batches_.skip_rows) {
    first_row_ = num_seen_;
    return;
  }
  const std::size_t width = columns_.size();
  for (std::size_t slot = 0; slot < width; ++slot) columns_[slot].push_back(chunk.values[row * width + slot]);
  if (schema_->selection.id) ids_.push_back(chunk.ids[row]);
  lines_.add(num_rows_, num_lines_before + 1 + chunk.lines.line_of(row));
  if (schema_->selection.label) {
    const std::span<const char> label(chunk.label_bytes.data() + label_begin, chunk.label_sizes[row]);
    labels_.bytes.insert(labels_.bytes.end(), label.begin(), label.end());
    labels_.offsets.push_back(labels_.bytes.size());
  }
  if (++num_rows_ == batches_.batch_rows) hand_out();
}

void BatchSink::drop_row() {
  if (num_seen_++ < batches_.skip_rows) {
    first_row_ = num_seen_;
    return;
  }
  ++totals_.num_dropped_rows;
  if (!schema_->selection.id) dropped_rows_.push_back(num_seen_ - 1 - first_row_);
}

void BatchSink::wait() {
  constexpr int kMaxWaits = 10;
  if (++num_waits_ == kMaxWaits && num_rows_ > 0) hand_out();
}

void BatchSink::hand_out() {
  if (options_.unique_ids && schema_->selection.id) check_csv_ids(ids_, lines_, name_, *schema_);
  take_({view(), first_row_, num_seen_ - first_row_,
         [this](std::size_t row) { return place_of_line(name_, lines_.line_of(row)); }});
  totals_.num_rows += num_rows_;
  first_row_ = num_seen_;
  num_rows_ = 0;
  for (std::vector<double>& column : columns_) column.clear();
  ids_.clear();
  dropped_rows_.clear();
  lines_.clear();
  labels_.bytes.clear();
  if (schema_->selection.label) labels_.offsets.resize(1);
}

TableView BatchSink::view() const {
  TableView view;
  view.num_rows = num_rows_;
  view.attributes = schema_->selection.attributes;
  for (const std::vector<double>& column : columns_) view.columns.emplace_back(column);
  view.ids = ids_;
  view.labels = labels_.view();
  view.dropped_rows = dropped_rows_;
  return view;
}

BatchTotals BatchSink::finish() {
  if (num_rows_ > 0 || !dropped_rows_.empty()) hand_out();
  return totals_;
}

}  // namespace

BatchTotals read_csv_in_batches(ByteSource& source, const std::string& name, const ReadOptions& options,
                                char delimiter, const BatchOptions& batches,
                                const std::function<void(const TableBatch&)>& take, const CsvTuning& tuning) {
  BatchTotals totals;
  with_threads(options.num_threads, [&] {
    BatchSink sink(name, options, batches, take);
    CsvParser parser(source, name, options, delimiter, tuning, ReadPolicy::as_it_comes);
    parser.parse(sink);
    totals = sink.finish();
  });
  return totals;
}

}  // namespace culmen::io
