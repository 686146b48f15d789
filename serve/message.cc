#include "serve/message.h"

#include <cstdint>
#include <exception>
#include <new>

#include "coding/json_text.h"
#include "culmen/error.h"
#include "serve/question_queue.h"

namespace culmen::serve {

Response error_response(int status, std::string_view type, std::string_view message) {
  Response response = {.status = status,
                       .body = json_text({{"error", {{"type", type}, {"message", message}}}}) + '\n'};
  if (status == 503) response.fields.emplace_back("Retry-After", "1");
  if (status == 401) response.fields.emplace_back("WWW-Authenticate", "Bearer");
  return response;
}

Response body_too_large() {
  return error_response(413, "BodyTooLarge", "the body is larger than the server allows");
}

Response current_error_response() {
  try {
    throw;
  } catch (const TimeLimit& error) {
    return error_response(503, "TimeLimit", error.what());
  } catch (const Overload& error) {
    return error_response(503, "Overload", error.what());
  } catch (const InvalidArgument& error) {
    return error_response(400, "InvalidArgument", error.what());
  } catch (const InputError& error) {
    return error_response(400, "InputError", error.what());
  } catch (const FormatError& error) {
    return error_response(500, "FormatError", error.what());
  } catch (const IoError& error) {
    return error_response(500, "IoError", error.what());
  } catch (const std::bad_alloc&) {
    return error_response(503, "OutOfMemory", "out of memory");
  } catch (const std::exception& error) {
    return error_response(500, "Error", error.what());
  }
}

std::string log_line(const RequestHead& head, const Response& response, double seconds) {
  Json line = {{"event", "request"},
               {"method", head.method},
               {"path", std::string(head.path().substr(0, 200))},
               {"status", response.status},
               {"bytes", response.body.size()},
               {"us", static_cast<std::int64_t>(1e6 * seconds)}};
  if (response.status == 500) line["error"] = response.body;
  return json_text(line);
}

}  // namespace culmen::serve
