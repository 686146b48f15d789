// The options of a question, which the commands query and shell take.
#pragma once

#include "tools/run_query.h"

namespace CLI {
class App;
}

namespace culmen::tools {

// `arguments` live as long as the command.
void add_question_options(CLI::App& command, QueryArguments& arguments);

}  // namespace culmen::tools
