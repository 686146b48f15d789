// What the server is to do.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "culmen/device_group.h"
#include "culmen/open.h"

namespace culmen::serve {

struct Limits {
  std::size_t body_bytes = 4 << 20;
  std::size_t header_bytes = 16 << 10;
  std::size_t rows = 10'000;  // that the questions of a request ask for together, and of one write
  std::size_t connections = 4'096;
  std::size_t waiting = 1'024;  // questions that have come and are not answered yet
  std::chrono::milliseconds question_time{10'000};
  std::chrono::milliseconds request_time{30'000};  // for a request to arrive, and for an answer to be taken
  std::chrono::milliseconds idle_time{75'000};     // between two requests of a connection
  std::chrono::milliseconds stop_time{10'000};     // for what is under way when the server is told to stop
};

struct ServeOptions {
  std::string address = "127.0.0.1";
  std::uint16_t port = 8080;
  std::vector<std::string> hosts;  // other names that clients may call the server by
  std::string token;               // empty: none is asked for
  bool reads_need_token = false;   // changes always do
  bool writable = false;
  bool page = true;
  bool logs_requests = false;
  int num_threads = kAllCores;
  std::vector<int> devices;  // GPUs that search; none: the CPU
  DeviceGroupOptions on_devices = {};
  std::chrono::milliseconds refresh_time{1'000};  // how often to look for changes by others; 0: never
  Limits limits = {};
};

}  // namespace culmen::serve
