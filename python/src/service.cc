// What culmen/asgi.py serves: the server's answers to requests, without its sockets.
#include "serve/service.h"

#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bindings.h"
#include "coding/any_index.h"
#include "culmen/index.h"
#include "gil.h"
#include "serve/guard.h"
#include "serve/message.h"
#include "serve/options.h"
#include "text.h"

namespace culmen::python {
namespace {

using Clock = std::chrono::steady_clock;

// (status, [(name, value), ...], body), as ASGI takes them.
nb::object to_python(const serve::Response& response) {
  const auto to_bytes = [](const std::string& text) { return nb::bytes(text.data(), text.size()); };
  nb::list fields;
  fields.append(nb::make_tuple(to_bytes("content-type"), to_bytes(response.content_type)));
  for (const auto& [name, value] : response.fields)
    fields.append(nb::make_tuple(to_bytes(name), to_bytes(value)));
  return nb::make_tuple(response.status, fields, to_bytes(response.body));
}

// A callable that threads without the GIL may copy and forget.
std::shared_ptr<nb::object> shared_callable(nb::object callable) {
  return {new nb::object(std::move(callable)), [](nb::object* object) {
            const GilAcquired acquired;
            delete object;
          }};
}

// Whether the client of a request has gone.
class Client {
 public:
  void leave() { *gone_ = true; }
  auto is_gone() const {
    return [gone = gone_] { return gone->load(); };
  }

 private:
  std::shared_ptr<std::atomic<bool>> gone_ = std::make_shared<std::atomic<bool>>(false);
};

class PythonService {
 public:
  PythonService(AnyIndex index, serve::ServeOptions options, nb::object report)
      : options_(std::move(options)) {
    const auto tell = [report = shared_callable(std::move(report))](const std::string& problem) {
      const GilAcquired acquired;
      call(*report, system_text(problem));
    };
    const GilReleased released;
    service_.emplace(std::move(index), options_, tell);
  }
  PythonService(const PythonService&) = delete;
  PythonService& operator=(const PythonService&) = delete;
  // Its threads may wait for the GIL.
  ~PythonService() {
    const GilReleased released;
    service_.reset();
  }
  void stop() {
    const GilReleased released;
    service_->stop();
  }

  nb::object refusal(const serve::RequestHead& head) {
    const std::optional<serve::Response> refused = service_->refusal(head);
    if (!refused) return nb::none();
    count(head, refused->status, Clock::now());
    return to_python(*refused);
  }

  nb::object too_large(const serve::RequestHead& head) {
    const serve::Response refused = serve::body_too_large();
    count(head, refused.status, Clock::now());
    return to_python(refused);
  }

  // Calls reply(response) once, here or from another thread.
  void answer(const serve::RequestHead& head, const nb::bytes& body, const Client& client, nb::object reply) {
    const auto to = shared_callable(std::move(reply));
    std::string text(body.c_str(), body.size());
    const GilReleased released;
    service_->answer(head, std::move(text), client.is_gone(),
                     [this, head, to, began = Clock::now()](const serve::MakeResponse& make) {
                       serve::Response response;
                       try {
                         response = make();
                       } catch (...) {
                         response = serve::current_error_response();
                       }
                       count(head, response.status, began);
                       const GilAcquired acquired;
                       call(*to, to_python(response));
                     });
  }

 private:
  // Threads of the service have nobody to throw to.
  static void call(const nb::object& callable, const nb::object& argument) noexcept {
    try {
      callable(argument);
    } catch (nb::python_error& error) {
      error.discard_as_unraisable("culmen.asgi");
    }
  }

  void count(const serve::RequestHead& head, int status, Clock::time_point began) {
    const std::chrono::duration<double> seconds = Clock::now() - began;
    service_->metrics().count(serve::Service::route_of(head.path()), status, seconds.count());
  }

  serve::ServeOptions options_;
  std::optional<serve::Service> service_;
};

// Either of an index, or of what is in a directory.
std::unique_ptr<PythonService> make_service(const Index* index, const std::optional<nb::bytes>& directory,
                                            const std::vector<std::string>& hosts, std::string token,
                                            bool writable, bool page, int num_threads,
                                            std::vector<int> devices, std::size_t max_rows,
                                            std::size_t max_waiting, double time_limit, nb::object report) {
  serve::ServeOptions options = {.hosts = hosts,
                                 .token = std::move(token),
                                 .writable = writable,
                                 .page = page,
                                 .num_threads = num_threads,
                                 .devices = std::move(devices)};
  options.reads_need_token = !options.token.empty();
  options.limits.rows = max_rows;
  options.limits.waiting = max_waiting;
  options.limits.question_time =
      std::chrono::milliseconds(static_cast<std::chrono::milliseconds::rep>(1e3 * time_limit));
  AnyIndex served = [&] {
    if (index != nullptr) return AnyIndex(*index);
    const std::string path = path_of(*directory);
    return without_gil(
        [&] { return AnyIndex::open(path, {.writable = writable, .num_threads = num_threads}); });
  }();
  return std::make_unique<PythonService>(std::move(served), std::move(options), std::move(report));
}

}  // namespace

void bind_service(nb::module_& module) {
  nb::class_<serve::RequestHead>(module, "RequestHead")
      .def("__init__", [](serve::RequestHead* head, std::string method, std::string target, std::string host,
                          std::string origin, std::string content_type, std::string authorization) {
        new (head) serve::RequestHead{std::move(method), std::move(target),       std::move(host),
                                      std::move(origin), std::move(content_type), std::move(authorization)};
      });
  nb::class_<Client>(module, "Client").def(nb::init<>()).def("leave", &Client::leave);
  nb::class_<PythonService>(module, "Service")
      .def("refusal", &PythonService::refusal)
      .def("too_large", &PythonService::too_large)
      .def("answer", &PythonService::answer)
      .def("stop", &PythonService::stop);
  module.def("check_token", [](const std::string& token) { serve::check_token(token); });
  module.def("make_service", make_service, nb::arg("index").none(), nb::arg("directory").none(),
             nb::arg("hosts"), nb::arg("token"), nb::arg("writable"), nb::arg("page"), nb::arg("num_threads"),
             nb::arg("devices"), nb::arg("max_rows"), nb::arg("max_waiting"), nb::arg("time_limit"),
             nb::arg("report"));
}

}  // namespace culmen::python
