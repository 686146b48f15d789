#include "serve/guard.h"

#include <fmt/core.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstring>
#include <fstream>

#include "culmen/error.h"

namespace culmen::serve {
namespace {

constexpr std::size_t kLeastToken = 16;

std::string in_lower_case(std::string_view text) {
  std::string lower(text);
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return lower;
}

// "[::1]:8080" -> "[::1]", "a:80" -> "a".
std::string_view without_port(std::string_view host) {
  const std::size_t colon = host.rfind(':');
  const std::size_t bracket = host.rfind(']');
  if (colon == std::string_view::npos || (bracket != std::string_view::npos && colon < bracket)) return host;
  return host.substr(0, colon);
}

}  // namespace

bool same_token(std::string_view token, std::string_view given) {
  if (token.empty()) return false;
  std::size_t difference = token.size() ^ given.size();
  for (std::size_t i = 0; i < given.size(); ++i)
    difference |= static_cast<unsigned char>(token[i % token.size()] ^ given[i]);
  return difference == 0;
}

void check_token(std::string_view token) {
  const auto is_plain = [](char c) { return c > ' ' && c <= '~'; };
  if (token.size() < kLeastToken || !std::all_of(token.begin(), token.end(), is_plain))
    throw InvalidArgument(
        fmt::format("a token has {} characters or more, of ASCII and without blanks", kLeastToken));
}

std::string read_token(const std::string& path) {
  std::ifstream file(path);
  if (!file) throw IoError(fmt::format("{}: {}", path, std::strerror(errno)));
  std::string token;
  std::getline(file, token);
  while (!token.empty() && std::isspace(static_cast<unsigned char>(token.back())) != 0) token.pop_back();
  try {
    check_token(token);
  } catch (const InvalidArgument& error) {
    throw InvalidArgument(fmt::format("{}: {}", path, error.what()));
  }
  return token;
}

bool is_loopback(const std::string& address) {
  return address == "::1" || address == "localhost" || address.starts_with("127.");
}

Guard::Guard(const ServeOptions& options)
    : token_(options.token), reads_need_token_(options.reads_need_token) {
  hosts_ = {"localhost", "127.0.0.1", "[::1]"};
  hosts_.push_back(in_lower_case(
      options.address.find(':') == std::string::npos ? options.address : '[' + options.address + ']'));
  for (const std::string& host : options.hosts) hosts_.push_back(in_lower_case(host));
}

bool Guard::is_known_host(std::string_view host) const {
  return std::find(hosts_.begin(), hosts_.end(), in_lower_case(without_port(host))) != hosts_.end();
}

bool Guard::has_token(const RequestHead& head) const {
  constexpr std::string_view kScheme = "bearer ";
  const std::string_view field = head.authorization;
  if (field.size() < kScheme.size() || in_lower_case(field.substr(0, kScheme.size())) != kScheme)
    return false;
  return same_token(token_, field.substr(kScheme.size()));
}

std::optional<Response> Guard::refusal(const RequestHead& head, bool is_open, bool is_write) const {
  if (!is_known_host(head.host))
    return error_response(421, "UnknownHost",
                          "this server is not known by the name in the Host field; culmen serve --host NAME");
  if (!head.origin.empty() && head.origin != "http://" + head.host && head.origin != "https://" + head.host)
    return error_response(403, "ForeignOrigin", "pages of other sites may not ask here");
  if (!is_open && (is_write || reads_need_token_) && !has_token(head))
    return error_response(401, "TokenNeeded", "give the token: Authorization: Bearer TOKEN");
  return std::nullopt;
}

}  // namespace culmen::serve
