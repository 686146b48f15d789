// Requests and responses, apart from how they travel.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace culmen::serve {

// What is known of a request before its body is there.
struct RequestHead {
  std::string method;  // "GET"
  std::string target;  // "/get?ids=1,2"
  std::string host;    // header fields; empty: absent
  std::string origin;
  std::string content_type;
  std::string authorization;

  std::string_view path() const { return std::string_view(target).substr(0, target.find('?')); }
};

struct Response {
  int status = 200;
  std::string body = {};
  std::string content_type = "application/json";
  std::vector<std::pair<std::string, std::string>> fields = {};  // others
};

// {"error":{"type":"InvalidArgument","message":"..."}}
Response error_response(int status, std::string_view type, std::string_view message);
Response body_too_large();
// For what is being handled in a catch block.
Response current_error_response();

// A request that has its response, as a line of JSON.
std::string log_line(const RequestHead& head, const Response& response, double seconds);

// Makes a response: called by a thread that has time for it, and never more than once.
using MakeResponse = std::function<Response()>;
// Takes the response to one request. Any thread may call it, once.
using Reply = std::function<void(MakeResponse)>;

}  // namespace culmen::serve
