#include "table/hotels.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <string_view>

#include "table/row_random.h"

namespace culmen {
namespace {

struct City {
  std::string_view name;
  int price_percent;
};

struct Style {
  std::string_view before;
  std::string_view after;
};

struct NameParts {
  Style style;
  std::string_view word;
  City city;
};

// The lists have power-of-two sizes, so the bits of a name's number select its parts.
constexpr int kCityBits = 6;
constexpr int kWordBits = 7;
constexpr int kStyleBits = 4;
constexpr int kNameBits = kCityBits + kWordBits + kStyleBits;
constexpr std::uint32_t kNameMask = (1u << kNameBits) - 1;

constexpr std::array<City, 1 << kCityBits> kCities = {{
    {"Aarhus", 115},    {"Amsterdam", 160}, {"Antwerpen", 110}, {"Athína", 85},    {"Barcelona", 135},
    {"Basel", 150},     {"Bergen", 130},    {"Berlin", 105},    {"Bilbao", 100},   {"Bologna", 110},
    {"Bordeaux", 115},  {"Bratislava", 75}, {"Brno", 70},       {"Brugge", 120},   {"București", 65},
    {"Budapest", 80},   {"Córdoba", 85},    {"Dresden", 90},    {"Dublin", 150},   {"Düsseldorf", 110},
    {"Edinburgh", 145}, {"Firenze", 140},   {"Galway", 120},    {"Gdańsk", 75},    {"Genève", 180},
    {"Göteborg", 115},  {"Graz", 90},       {"Hamburg", 115},   {"Helsinki", 120}, {"Innsbruck", 120},
    {"København", 155}, {"Köln", 105},      {"Kraków", 70},     {"Leipzig", 85},   {"Liège", 85},
    {"Lisboa", 115},    {"Ljubljana", 90},  {"London", 175},    {"Lyon", 105},     {"Málaga", 100},
    {"Malmö", 100},     {"Marseille", 100}, {"Milano", 140},    {"München", 135},  {"Napoli", 95},
    {"Nürnberg", 90},   {"Oslo", 140},      {"Paris", 180},     {"Porto", 95},     {"Praha", 90},
    {"Reykjavík", 165}, {"Rīga", 70},       {"Roma", 145},      {"Salzburg", 125}, {"San Sebastián", 140},
    {"Sevilla", 100},   {"Split", 95},      {"Stockholm", 140}, {"Tallinn", 80},   {"Torino", 90},
    {"Utrecht", 120},   {"Venezia", 165},   {"Wien", 115},      {"Zürich", 180},
}};

constexpr std::array<std::string_view, 1 << kWordBits> kWords = {
    "Abendrot", "Adler",     "Adria",   "Agora",    "Alba",    "Albatros",  "Alcázar",   "Alhambra",
    "Alpina",   "Amadeus",   "Ambra",   "Anker",    "Apollo",  "Arcadia",   "Ariadne",   "Arkona",
    "Astoria",  "Atlas",     "Aurora",  "Azalea",   "Azur",    "Balance",   "Belvedere", "Bernina",
    "Bianca",   "Birke",     "Bodega",  "Brücke",   "Café",    "Camélia",   "Capella",   "Carmen",
    "Castello", "Cèdre",     "Celeste", "Chopin",   "Cielo",   "Citadel",   "Clara",     "Colibri",
    "Corona",   "Dachstein", "Dahlia",  "Danube",   "Delfin",  "Diana",     "Domino",    "Dorado",
    "Eden",     "Edelweiß",  "Eiche",   "Elena",    "Elysée",  "Emilia",    "Estrela",   "Étoile",
    "Europa",   "Falke",     "Fiora",   "Fjord",    "Flora",   "Fontana",   "Fortuna",   "Galatea",
    "Garden",   "Gloria",    "Granada", "Harmonie", "Helios",  "Hermes",    "Hirsch",    "Iris",
    "Isola",    "Jadran",    "Jasmin",  "Juno",     "Jupiter", "Kompass",   "Krone",     "Laguna",
    "Lärche",   "Laurel",    "Lido",    "Lilie",    "Linde",   "Luna",      "Magnolia",  "Majestic",
    "Mar",      "Marina",    "Mercur",  "Merian",   "Minerva", "Miramar",   "Mistral",   "Monopol",
    "Mozart",   "Nautilus",  "Nordlys", "Olympia",  "Opera",   "Orion",     "Orchidée",  "Palma",
    "Panorama", "Paradiso",  "Pegasus", "Perla",    "Phönix",  "Primavera", "Quelle",    "Regina",
    "Riviera",  "Rosa",      "Rubin",   "Saga",     "Saphir",  "Schwan",    "Serena",    "Smetana",
    "Solé",     "Sonne",     "Sirius",  "Terrassa", "Traube",  "Vega",      "Vesta",     "Zephyr",
};

constexpr std::array<Style, 1 << kStyleBits> kStyles = {{
    {"Hotel ", ""},
    {"Grand Hotel ", ""},
    {"Boutique Hotel ", ""},
    {"Hôtel ", ""},
    {"Pension ", ""},
    {"Gästehaus ", ""},
    {"Villa ", ""},
    {"Residence ", ""},
    {"Albergo ", ""},
    {"Casa ", ""},
    {"Palais ", ""},
    {"", " Inn"},
    {"", " Lodge"},
    {"", " Suites"},
    {"", " Palace"},
    {"", " Rooms"},
}};

static_assert(!kCities.back().name.empty() && !kWords.back().empty() && !kStyles.back().after.empty(),
              "a list is shorter than its array");

// A permutation of the numbers below 2^kNameBits: each step is invertible, so no two rows get the same name.
std::uint32_t permute_name(std::uint32_t number, std::uint32_t shift, std::uint32_t factor) {
  number = ((number + shift) * factor) & kNameMask;
  number ^= number >> (kNameBits / 2);
  number = (number * 0x9E3779B1u) & kNameMask;
  return number ^ (number >> (kNameBits / 2));
}

int draw_stars(RowRandom& random) {
  const std::uint32_t percent = random.below(100);
  return 1 + (percent >= 6) + (percent >= 22) + (percent >= 60) + (percent >= 90);
}

enum : std::size_t {
  kPrice,
  kRating,
  kStars,
  kDistance,
  kReviews,
  kBreakfast,
  kNoise,
  kRenovated,
  kNumAttributes,
};
constexpr int kThisYear = 2025;

// Whole tenths within [low, high], as the double nearest to the decimal number.
double in_tenths(double value, int low, int high) {
  const double tenths = std::floor(value * 10 + 0.5);
  return std::clamp(tenths, static_cast<double>(low), static_cast<double>(high)) / 10;
}

// Whole euros with one of the usual endings.
double draw_price(RowRandom& random, int stars, double distance_km, int price_percent) {
  constexpr double kBaseEuros[] = {45, 58, 82, 125, 240};
  constexpr int kEndingCents[] = {0, 50, 90, 99};
  const double closeness = 1.3 - 0.04 * std::min(distance_km, 15.0);
  const double euros = kBaseEuros[stars - 1] * price_percent / 100 * closeness * random.peak(0.6, 1.5, 3);
  const int cents = static_cast<int>(euros) * 100 + kEndingCents[random.below(4)];
  return cents / 100.0;
}

double draw_rating(RowRandom& random, int stars, int years_since_renovation) {
  double rating = 6.0 + 0.4 * stars - 0.02 * years_since_renovation + random.peak(-2.2, 2.2, 4);
  if (random.below(25) == 0) rating -= random.uniform(1, 4);  // some hotels are simply bad
  return in_tenths(rating, 10, 100);
}

// Heavy-tailed: the share of hotels with more than x reviews falls as x^-1.6.
double draw_reviews(RowRandom& random, double distance_km) {
  const double root_4 = std::sqrt(std::sqrt(random.uniform_above_zero()));
  const double root_8 = std::sqrt(root_4);
  const double scale = 10 + 20 / (1 + distance_km);  // more guests stay in the centre
  return std::floor(scale * (1 / (root_4 * root_4 * root_8) - 1));
}

NameParts name_parts(std::uint32_t number) {
  return {kStyles[number >> (kCityBits + kWordBits)], kWords[(number >> kCityBits) & ((1u << kWordBits) - 1)],
          kCities[number & ((1u << kCityBits) - 1)]};
}

}  // namespace

HotelGenerator::HotelGenerator(std::uint64_t seed, std::uint32_t stream) : seed_(seed), stream_(stream) {
  constexpr std::uint32_t kNamesStream = 0x80000000u;  // disjoint from the streams of rows
  RowRandom random(seed, stream | kNamesStream, 0);
  name_shift_ = random.next_word();
  name_factor_ = random.next_word() | 1;  // odd: invertible modulo a power of two
}

std::vector<Attribute> HotelGenerator::attributes() {
  std::vector<Attribute> attributes = {{"price", Preference::low},    {"rating", Preference::high},
                                       {"stars", Preference::high},   {"distance", Preference::low},
                                       {"reviews", Preference::high}, {"breakfast", Preference::high},
                                       {"noise", Preference::low},    {"renovated", Preference::high}};
  for (const std::size_t whole : {kStars, kReviews, kRenovated})
    attributes[whole].format.type = ColumnType::integer;
  return attributes;
}

void HotelGenerator::make_row(std::uint64_t row, std::span<double> values) const {
  RowRandom random(seed_, stream_, row);
  const int stars = draw_stars(random);
  const double from_centre = random.uniform();
  const double distance_km = in_tenths(15 * from_centre * from_centre, 0, 150);
  const double age = random.uniform();
  const int years_since_renovation = static_cast<int>(50 * age * age);
  const double rating = draw_rating(random, stars, years_since_renovation);

  values[kPrice] = draw_price(random, stars, distance_km, name_parts(name_number(row)).city.price_percent);
  values[kRating] = rating;
  values[kStars] = stars;
  values[kDistance] = distance_km;
  values[kReviews] = draw_reviews(random, distance_km);
  values[kBreakfast] = in_tenths(2 + 0.5 * rating + 0.4 * stars + random.peak(-2, 2, 3), 10, 100);
  values[kNoise] = in_tenths(58 - 1.2 * distance_km - stars + random.peak(-12, 12, 3), 200, 800);  // decibels
  values[kRenovated] = kThisYear - years_since_renovation;
}

std::string_view HotelGenerator::city(std::uint64_t row) const {
  return name_parts(name_number(row)).city.name;
}

std::optional<std::int64_t> HotelGenerator::opening_day(std::uint64_t row) const {
  constexpr std::uint32_t kOpeningStream = 0x40000000u;  // disjoint from the others
  RowRandom random(seed_, stream_ | kOpeningStream, row);
  if (random.below(8) == 0) return std::nullopt;
  std::array<double, kNumAttributes> values{};
  make_row(row, values);
  const int year = static_cast<int>(values[kRenovated]) - static_cast<int>(random.below(61));
  const std::chrono::sys_days new_year = std::chrono::year(year) / std::chrono::January / 1;
  return new_year.time_since_epoch().count() + static_cast<std::int64_t>(random.below(365));
}

std::uint32_t HotelGenerator::name_number(std::uint64_t row) const {
  return permute_name(static_cast<std::uint32_t>(row) & kNameMask, name_shift_, name_factor_);
}

void HotelGenerator::append_name(std::uint64_t row, std::string& text) const {
  const NameParts parts = name_parts(name_number(row));
  text.append(parts.style.before).append(parts.word).append(parts.style.after);
  text.append(" ").append(parts.city.name);
  const std::uint64_t times_used = row >> kNameBits;
  if (times_used > 0) text.append(" ").append(std::to_string(times_used + 1));
}

}  // namespace culmen
