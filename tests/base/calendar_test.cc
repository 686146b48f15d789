#include "base/calendar.h"
#include "tests/cases.h"

#include <gtest/gtest.h>

#include <limits>
#include <string>

namespace culmen {
namespace {

std::string date_text(std::int64_t days) {
  std::string text;
  append_date(days, text);
  return text;
}

std::string time_text(std::int64_t value, TimeUnit unit, const std::string& zone = "") {
  std::string text;
  append_timestamp(value, {ColumnType::timestamp, unit, zone}, text);
  return text;
}

TEST(Calendar, DatesAreDaysSince1970) {
  EXPECT_EQ(parse_date("1970-01-01"), 0);
  EXPECT_EQ(parse_date("1969-12-31"), -1);
  EXPECT_EQ(parse_date("2000-02-29"), 11'016);
  EXPECT_EQ(parse_date("2025-06-01"), 20'240);
  EXPECT_EQ(parse_date("0001-01-01"), -719'162);
  EXPECT_EQ(parse_date("9999-12-31"), 2'932'896);
}

TEST(Calendar, OtherTextsAndDaysThatDoNotExistAreNoDates) {
  for (const char* text : {"", "2025", "2025-6-1", "2025-06-01 ", " 2025-06-01", "25-06-01", "2025/06/01",
                           "2025-02-29", "1900-02-29", "2025-13-01", "2025-00-01", "2025-01-00", "0000-01-01",
                           "2025-06-01T", "+025-06-01", "12025-06-01", "2025-06-31", "2025-0a-01"}) {
    EXPECT_EQ(parse_date(text), std::nullopt) << text;
  }
}

TEST(Calendar, EveryDayComesBackFromItsText) {
  constexpr std::int64_t kStep = test::step_of_states(5);
  std::string last;
  for (std::int64_t days = -719'162; days <= 2'932'896; days += kStep) {
    const std::string text = date_text(days);
    ASSERT_EQ(parse_date(text), days);
    ASSERT_LT(last, text);  // texts of dates are ordered as the dates are
    last = text;
  }
}

TEST(Calendar, YearsBeyondFourDigitsAndBeforeTheFirstHaveASign) {
  constexpr std::int64_t kFirst = std::numeric_limits<std::int32_t>::min(),
                         kLast = std::numeric_limits<std::int32_t>::max();
  EXPECT_EQ(date_text(-719'163), "+0000-12-31");
  EXPECT_EQ(date_text(-719'529), "-0001-12-31");
  EXPECT_EQ(date_text(-735'525), "-0044-03-15");
  EXPECT_EQ(date_text(2'932'897), "+10000-01-01");
  EXPECT_EQ(date_text(kLast), "+5881580-07-11");
  EXPECT_EQ(date_text(kFirst), "-5877641-06-23");
  EXPECT_EQ(parse_date("+0002025-06-01"), 20'240);
  EXPECT_EQ(parse_date("+0000-02-29"), -719'469);
  EXPECT_EQ(parse_date("+12345-01-01"), parse_date("+012345-01-01"));
  for (const char* text : {"-0000-01-01", "-0001-02-29", "+5881580-07-12", "-5877641-06-22", "+123-01-01",
                           "+1234567890123-01-01", "++2025-01-01", "+12345-1-01"}) {
    EXPECT_EQ(parse_date(text), std::nullopt) << text;
  }
  for (std::int64_t days = kFirst; days <= kLast; days += 99'991) {
    ASSERT_EQ(parse_date(date_text(days)), days) << date_text(days);
  }
}

TEST(Calendar, EveryTimestampComesBackFromItsText) {
  constexpr std::int64_t kLeast = -std::numeric_limits<std::int64_t>::max(),
                         kMost = std::numeric_limits<std::int64_t>::max();
  EXPECT_EQ(time_text(kMost, TimeUnit::second), "+292277026596-12-04 15:30:07");
  EXPECT_EQ(time_text(kMost, TimeUnit::second, "+02:00"), "+292277026596-12-04 17:30:07+02:00");
  EXPECT_EQ(time_text(kLeast, TimeUnit::second, "-05:30"), "-292277022657-01-27 02:59:53-05:30");
  for (const char* zone : {"", "UTC", "+14:00", "-12:00"}) {
    for (const TimeUnit unit :
         {TimeUnit::second, TimeUnit::millisecond, TimeUnit::microsecond, TimeUnit::nanosecond}) {
      for (const std::int64_t value :
           {kLeast, kLeast + 1, kLeast / 3, std::int64_t{-86'401}, std::int64_t{-1}, std::int64_t{0},
            std::int64_t{86'399}, kMost / 7, kMost - 86'400, kMost - 1, kMost}) {
        const std::string text = time_text(value, unit, zone);
        const auto parsed = parse_timestamp(text);
        ASSERT_TRUE(parsed) << text;
        const auto count = count_in_unit(*parsed, unit);
        ASSERT_TRUE(count && count->is_exact) << text;
        ASSERT_EQ(count->value, value) << text;
      }
    }
  }
  EXPECT_FALSE(parse_timestamp("+292277026596-12-04 15:30:08"));
  EXPECT_FALSE(parse_timestamp("+292277026597-01-01 00:00:00"));
  EXPECT_FALSE(parse_timestamp("-292277022658-01-01 00:00:00"));
}

TEST(Calendar, NumPysNotATimeIsNoTimestamp) {
  EXPECT_FALSE(count_in_unit(*parse_timestamp("-292277022657-01-27 08:29:52"), TimeUnit::second));
  EXPECT_FALSE(count_in_unit(*parse_timestamp("1677-09-21 00:12:43.145224192"), TimeUnit::nanosecond));
}

TEST(Calendar, ParsesTimestamps) {
  const auto parsed = parse_timestamp("2025-06-01 12:30:15.25");
  ASSERT_TRUE(parsed);
  EXPECT_EQ(parsed->seconds, 20'240LL * 86'400 + 45'015);
  EXPECT_EQ(parsed->nanoseconds, 250'000'000u);
  EXPECT_EQ(parsed->num_fraction_digits, 2);
  EXPECT_FALSE(parsed->has_zone);

  EXPECT_EQ(parse_timestamp("1970-01-01T00:00")->seconds, 0);
  EXPECT_EQ(parse_timestamp("1970-01-01T00:01:02Z")->seconds, 62);
  EXPECT_TRUE(parse_timestamp("1970-01-01T00:01:02Z")->has_zone);
  for (const char* text : {"1970-01-01 02:00+02:00", "1970-01-01T02:00:00+0200", "1970-01-01T02:00:00.000+02",
                           "1969-12-31T18:30-05:30"}) {
    ASSERT_TRUE(parse_timestamp(text)) << text;
    EXPECT_EQ(parse_timestamp(text)->seconds, 0) << text;
    EXPECT_TRUE(parse_timestamp(text)->has_zone) << text;
  }
  EXPECT_EQ(parse_timestamp("1969-12-31T18:30-05:30")->offset_minutes, -330);
}

TEST(Calendar, OtherTextsAreNoTimestamps) {
  for (const char* text : {"",
                           "2025-06-01",
                           "2025-06-01 ",
                           "2025-06-01 12",
                           "2025-06-01 12:",
                           "2025-06-01 24:00",
                           "2025-06-01 12:60",
                           "2025-06-01 12:00:60",
                           "2025-06-01 12:00:00.",
                           "2025-06-01 12:00:00.1234567890",
                           "2025-06-01_12:00",
                           "2025-06-01 12:00:00 Z",
                           "2025-06-01 12:00:00+",
                           "2025-06-01 12:00:00+2",
                           "2025-06-01 12:00:00+02:",
                           "2025-06-01 12:00:00+02:60",
                           "2025-06-01 12:00:00+24:00",
                           "2025-06-01 12:00:00ZZ",
                           "2025-02-30 12:00",
                           "2025-06-01 1:00",
                           "2025-06-01 12:00:00+02:000"}) {
    EXPECT_FALSE(parse_timestamp(text)) << text;
  }
}

TEST(Calendar, CountsInEachUnitRoundedDown) {
  const auto count = [](const char* text, TimeUnit unit) {
    return count_in_unit(*parse_timestamp(text), unit);
  };
  EXPECT_EQ(count("1970-01-01 00:00:01.5", TimeUnit::second)->value, 1);
  EXPECT_FALSE(count("1970-01-01 00:00:01.5", TimeUnit::second)->is_exact);
  EXPECT_EQ(count("1969-12-31 23:59:59.5", TimeUnit::second)->value, -1);
  EXPECT_EQ(count("1969-12-31 23:59:59.5", TimeUnit::millisecond)->value, -500);
  EXPECT_TRUE(count("1969-12-31 23:59:59.5", TimeUnit::millisecond)->is_exact);
  EXPECT_EQ(count("1970-01-01 00:00:00.000001234", TimeUnit::microsecond)->value, 1);
  EXPECT_EQ(count("1970-01-01 00:00:00.000001234", TimeUnit::nanosecond)->value, 1234);
  EXPECT_EQ(count("2262-04-11 23:47:16.854775807", TimeUnit::nanosecond)->value,
            std::numeric_limits<std::int64_t>::max());
  EXPECT_FALSE(count("2262-04-11 23:47:16.854775808", TimeUnit::nanosecond));
  EXPECT_EQ(count("1677-09-21 00:12:43.145224193", TimeUnit::nanosecond)->value,
            -std::numeric_limits<std::int64_t>::max());
  EXPECT_FALSE(count("1677-09-21 00:12:43.145224192", TimeUnit::nanosecond));
  EXPECT_TRUE(count("9999-12-31 23:59:59.999999", TimeUnit::microsecond));
}

TEST(Calendar, WritesTimestampsInTheirZone) {
  EXPECT_EQ(time_text(0, TimeUnit::second), "1970-01-01 00:00:00");
  EXPECT_EQ(time_text(-1, TimeUnit::second, "UTC"), "1969-12-31 23:59:59Z");
  EXPECT_EQ(time_text(-1, TimeUnit::millisecond), "1969-12-31 23:59:59.999");
  EXPECT_EQ(time_text(1'500'000, TimeUnit::microsecond), "1970-01-01 00:00:01.500");
  EXPECT_EQ(time_text(1, TimeUnit::nanosecond), "1970-01-01 00:00:00.000000001");
  EXPECT_EQ(time_text(0, TimeUnit::second, "+02:00"), "1970-01-01 02:00:00+02:00");
  EXPECT_EQ(time_text(0, TimeUnit::second, "-05:30"), "1969-12-31 18:30:00-05:30");
  EXPECT_EQ(time_text(0, TimeUnit::second, "Europe/Paris"), "1970-01-01 00:00:00Z");
  EXPECT_EQ(time_text(std::numeric_limits<std::int64_t>::min(), TimeUnit::nanosecond),
            "1677-09-21 00:12:43.145224192");
}

TEST(Calendar, NamesZonesAndUnits) {
  EXPECT_EQ(zone_name(0), "UTC");
  EXPECT_EQ(zone_name(-330), "-05:30");
  EXPECT_EQ(unit_of_digits(0), TimeUnit::second);
  EXPECT_EQ(unit_of_digits(3), TimeUnit::millisecond);
  EXPECT_EQ(unit_of_digits(4), TimeUnit::microsecond);
  EXPECT_EQ(unit_of_digits(9), TimeUnit::nanosecond);
}

}  // namespace
}  // namespace culmen
