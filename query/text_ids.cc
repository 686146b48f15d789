#include "query/text_ids.h"

#include <tbb/parallel_for.h>

#include <algorithm>
#include <cstdint>

#include "base/lock_isolated.h"
#include "base/text_id.h"
#include "index/text_rows.h"

namespace culmen {
namespace {

std::shared_ptr<const IdBitmap> looked_up(const std::vector<std::string>& texts, const TextRows& rows) {
  std::vector<TextPlace> places(texts.size());
  tbb::parallel_for(std::size_t{0}, texts.size(), [&](std::size_t i) { places[i] = rows.find(texts[i]); });
  std::vector<std::int64_t> numbers;
  for (const TextPlace& place : places)
    if (place.is_there) numbers.push_back(place.id);
  return std::make_shared<const IdBitmap>(std::span<const std::int64_t>(numbers));
}

}  // namespace

TextIds::TextIds(std::span<const std::string_view> texts) : texts_(texts.begin(), texts.end()) {
  std::ranges::for_each(texts_, check_text_id);
  std::sort(texts_.begin(), texts_.end());
  texts_.erase(std::unique(texts_.begin(), texts_.end()), texts_.end());
}

bool TextIds::contains(std::string_view text) const {
  return std::binary_search(texts_.begin(), texts_.end(), text);
}

std::shared_ptr<const IdBitmap> TextIds::numbers_in(const Snapshot& version) const {
  const std::shared_ptr<const TextRows> rows = version.shared_text_rows();
  std::shared_ptr<const IdBitmap> numbers;
  lock_isolated(mutex_, [&] {
    const auto known = found_.find(rows.get());
    if (known != found_.end() && !known->second.version.expired()) {
      numbers = known->second.numbers;
      return;
    }
    std::erase_if(found_, [](const auto& found) { return found.second.version.expired(); });
    numbers = looked_up(texts_, *rows);
    found_.insert_or_assign(rows.get(), Found{rows, numbers});
  });
  return numbers;
}

}  // namespace culmen
