#include "tools/result.h"

#include "culmen/error.h"
#include "tools/output.h"

namespace culmen::tools {

ExitCode print_result(const std::string& text, ExitCode code, const std::string& done) try {
  Output out("");
  out.write(text);
  out.finish();
  return code;
} catch (const BrokenPipe&) {
  return code;
} catch (const IoError& error) {
  return report_error(done.empty() ? error.what() : done + "; this could not be printed: " + error.what(),
                      code == ExitCode::ok ? ExitCode::failure : code);
}

}  // namespace culmen::tools
