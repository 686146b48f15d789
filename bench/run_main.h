// What the programs' main() have in common.
#pragma once

#include <exception>
#include <iostream>

namespace culmen::bench {

// Returns what body() returns; what it throws becomes a line on stderr, and exit status 1.
int run_main(auto&& body) try { return body(); } catch (const std::exception& error) {
  std::cerr << error.what() << '\n';
  return 1;
}

}  // namespace culmen::bench
