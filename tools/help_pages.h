// The help texts as a manual page, and as what shells complete.
#pragma once

#include <string>
#include <string_view>

namespace CLI {
class App;
}

namespace culmen::tools {

// A page of section 1, in the language of man.
std::string man_page(const CLI::App& app);

// What completes commands and options in `shell`: bash, zsh or fish.
std::string completion_script(const CLI::App& app, std::string_view shell);

}  // namespace culmen::tools
