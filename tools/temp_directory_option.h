// --temp-directory DIR, of build and compact.
#pragma once

#include <string>

namespace CLI {
class App;
}

namespace culmen::tools {

// Refuses a name of nothing, which a shell makes of a variable that is not set.
void add_temp_directory_option(CLI::App& command, std::string& path, const std::string& help);

}  // namespace culmen::tools
