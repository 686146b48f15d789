#include "tools/dialect_options.h"

#include <CLI/CLI.hpp>

namespace culmen::tools {

void add_dialect_options(CLI::App& command, DialectArguments& arguments) {
  command
      .add_option(
          "--delimiter", arguments.delimiter,
          "What is between cells: comma, tab, semicolon or bar, by name or as it is (default: found,\n"
          "as are the next three, in the first megabyte)")
      ->type_name("MARK")
      ->group("Text files");
  command
      .add_option("--decimal", arguments.decimal,
                  "The decimal mark in numbers, point or comma. Needed where no number tells, as in a file\n"
                  "whose only numbers are like 15.990")
      ->type_name("MARK")
      ->group("Text files");
  command
      .add_option(
          "--thousands", arguments.thousands,
          "The mark between groups of three digits: point, comma, apostrophe, blank or none. Of a point and\n"
          "a comma the other one is then the decimal mark")
      ->type_name("MARK")
      ->group("Text files");
  command.add_option("--header", arguments.header, "Whether the first line has the names of the columns")
      ->check(CLI::IsMember({"yes", "no"}))
      ->group("Text files");
  command
      .add_option("--dates", arguments.dates,
                  "What dates such as 01/02/2024 begin with. Needed where no date tells; 31.12.2024 always\n"
                  "begins with the day")
      ->check(CLI::IsMember({"day-first", "month-first"}))
      ->group("Text files");
  command
      .add_option(
          "--null", arguments.null_words,
          "Words for missing values, in columns of text too (default: NA, NULL, none, NaN, - and the\n"
          "like, in other columns than text). Empty cells always are missing values")
      ->type_name("WORD,...")
      ->group("Text files");
}

}  // namespace culmen::tools
