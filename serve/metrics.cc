#include "serve/metrics.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

namespace culmen::serve {
namespace {

void append_metric(std::string& text, std::string_view name, std::string_view type, std::string_view help,
                   std::uint64_t value) {
  fmt::format_to(std::back_inserter(text), "# HELP {0} {1}\n# TYPE {0} {2}\n{0} {3}\n", name, help, type,
                 value);
}

}  // namespace

void Metrics::count(std::string_view route, int status, double seconds) {
  const std::lock_guard lock(mutex_);
  ++requests_[{route, status}];
  const auto bucket = std::lower_bound(kSeconds.begin(), kSeconds.end(), seconds);
  ++durations_[static_cast<std::size_t>(bucket - kSeconds.begin())];
  total_seconds_ += seconds;
}

void Metrics::count_rows(std::uint64_t scored, std::uint64_t in_index) {
  rows_scored_ += scored;
  rows_in_reach_ += in_index;
}

std::string Metrics::text() const {
  std::string text;
  append_metric(text, "culmen_connections", "gauge", "Connections that are open.", connections);
  append_metric(text, "culmen_connections_refused_total", "counter", "Connections beyond the limit.",
                refused_connections);
  append_metric(text, "culmen_rows_scored_total", "counter", "Rows whose scores were computed.",
                rows_scored_);
  append_metric(text, "culmen_rows_in_reach_total", "counter",
                "Rows of the index, counted once for each question: what a scan would have scored.",
                rows_in_reach_);
  const std::lock_guard lock(mutex_);
  const auto out = std::back_inserter(text);
  fmt::format_to(out, "# HELP culmen_requests_total Requests by route and status.\n");
  fmt::format_to(out, "# TYPE culmen_requests_total counter\n");
  for (const auto& [key, number] : requests_)
    fmt::format_to(out, "culmen_requests_total{{route=\"{}\",status=\"{}\"}} {}\n", key.first, key.second,
                   number);
  fmt::format_to(out, "# HELP culmen_request_seconds From the head of a request to its response.\n");
  fmt::format_to(out, "# TYPE culmen_request_seconds histogram\n");
  std::uint64_t so_far = 0;
  for (std::size_t i = 0; i < kSeconds.size(); ++i) {
    so_far += durations_[i];
    fmt::format_to(out, "culmen_request_seconds_bucket{{le=\"{}\"}} {}\n", kSeconds[i], so_far);
  }
  so_far += durations_.back();
  fmt::format_to(out, "culmen_request_seconds_bucket{{le=\"+Inf\"}} {}\n", so_far);
  fmt::format_to(out, "culmen_request_seconds_sum {}\nculmen_request_seconds_count {}\n", total_seconds_,
                 so_far);
  return text;
}

}  // namespace culmen::serve
