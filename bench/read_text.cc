// How fast text becomes a table, in memory.
//
//   read_text [--megabytes=M] [--repeats=R] [--threads=T]
//
// M megabytes (256) of each kind of text: four numbers a row; the same with decimal commas and with points between
// thousands; with dates and times; with words for missing values; JSON Lines of numbers, and of numbers, texts and dates. A
// line for each: megabytes a second by T threads (1), median of R (5), and the slowest and the fastest.
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <random>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "bench/flags.h"
#include "bench/run_main.h"
#include "bench/timing.h"
#include "culmen/table_io.h"

namespace culmen::bench {
namespace {

struct Settings {
  std::uint64_t megabytes = 256;
  int repeats = 5, threads = 1;
};

using Draw = std::mt19937_64;

double number(Draw& draw) {
  return static_cast<double>(draw() >> 11) * 0x1p-53 * 10'000;
}

std::string day(Draw& draw) {
  return fmt::format("20{:02}-{:02}-{:02}", 10 + draw() % 15, 1 + draw() % 12, 1 + draw() % 28);
}

// 1.234,56
std::string german(Draw& draw) {
  const std::uint64_t cents = draw() % 1'000'000;
  const std::uint64_t euros = cents / 100;
  const std::string whole =
      euros < 1000 ? fmt::format("{}", euros) : fmt::format("{}.{:03}", euros / 1000, euros % 1000);
  return fmt::format("{},{:02}", whole, cents % 100);
}

struct Kind {
  std::string_view name;
  std::string_view header;
  std::function<std::string(Draw&)> row;
  char delimiter = ',';
  bool is_json = false;
};

const std::vector<Kind>& kinds() {
  static const std::vector<Kind> all = {
      {"numbers", "a,b,c,d\n",
       [](Draw& draw) {
         return fmt::format("{:.6f},{:.6f},{:.2f},{}\n", number(draw), number(draw), number(draw),
                            draw() % 100'000);
       }},
      {"decimal commas, points between thousands", "a;b;c;d\n",
       [](Draw& draw) {
         return fmt::format("{};{};{};{}\n", german(draw), german(draw), german(draw), draw() % 1'000);
       },
       ';'},
      {"dates and times", "day,at,a,b\n",
       [](Draw& draw) {
         return fmt::format("{},{} {:02}:{:02}:{:02},{:.2f},{}\n", day(draw), day(draw), draw() % 24,
                            draw() % 60, draw() % 60, number(draw), draw() % 1'000);
       }},
      {"words for missing values", "a,b,c,d\n",
       [](Draw& draw) {
         const auto cell = [&] {
           return draw() % 4 == 0 ? std::string("N/A") : fmt::format("{:.3f}", number(draw));
         };
         return fmt::format("{},{},{},{:.3f}\n", cell(), cell(), cell(), number(draw));
       }},
      {"JSON Lines, numbers", "",
       [](Draw& draw) {
         return fmt::format("{{\"a\":{:.6f},\"b\":{:.6f},\"c\":{:.2f},\"d\":{}}}\n", number(draw),
                            number(draw), number(draw), draw() % 100'000);
       },
       ',', true},
      {"JSON Lines, numbers, texts and dates", "",
       [](Draw& draw) {
         return fmt::format("{{\"sku\":\"SKU-{}\",\"price\":{:.2f},\"day\":\"{}\",\"stock\":{}}}\n",
                            draw() % 1'000'000, number(draw), day(draw), draw() % 1'000);
       },
       ',', true}};
  return all;
}

std::string text_of(const Kind& kind, std::uint64_t megabytes) {
  Draw draw(1);
  std::string text(kind.header);
  text.reserve((megabytes << 20) + 256);
  while (text.size() < megabytes << 20) text += kind.row(draw);
  return text;
}

void measure(const Kind& kind, const Settings& settings) {
  const std::string text = text_of(kind, settings.megabytes);
  ReadOptions options;
  options.num_threads = settings.threads;
  std::vector<double> times = times_us(settings.repeats, [&] {
    const Table table = kind.is_json ? parse_json_lines(text, "text", options)
                                     : parse_csv(text, "text", options, kind.delimiter);
    if (table.num_rows == 0) throw std::logic_error("no rows");
  });
  const auto speed = [&](double us) { return static_cast<double>(text.size()) / us; };
  fmt::print("{:42} {:6.0f} MB/s   {:.0f} to {:.0f}\n", kind.name, speed(median(times)),
             speed(*std::ranges::max_element(times)), speed(*std::ranges::min_element(times)));
}

int run(int argc, char** argv) {
  Settings settings;
  for (const std::string_view argument : std::vector<std::string_view>(argv + 1, argv + argc)) {
    if (take_flag(argument, "--megabytes=", settings.megabytes)) continue;
    if (take_flag(argument, "--repeats=", settings.repeats)) continue;
    if (take_flag(argument, "--threads=", settings.threads)) continue;
    fmt::print(stderr, "unknown flag {}\n", argument);
    return 2;
  }
  for (const Kind& kind : kinds()) measure(kind, settings);
  return 0;
}

}  // namespace
}  // namespace culmen::bench

int main(int argc, char** argv) {
  return culmen::bench::run_main([&] { return culmen::bench::run(argc, argv); });
}
