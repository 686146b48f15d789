// HTTP/1.1 on a socket.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "serve/options.h"
#include "serve/service.h"

namespace culmen::serve {

// Serves until a SIGTERM or SIGINT, then lets what is under way end. `listens`: told the address and port once
// connections are taken. `log`: told of requests, if the options say so, and of errors; called by any thread. Throws
// IoError if the address cannot be had.
void run_server(const ServeOptions& options, Service& service,
                const std::function<void(const std::string& address, std::uint16_t port)>& listens,
                const std::function<void(const std::string& line)>& log);

}  // namespace culmen::serve
