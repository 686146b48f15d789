// Who may ask: names of the server, pages of other sites, tokens.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "serve/message.h"
#include "serve/options.h"

namespace culmen::serve {

// Whether two tokens are the same, in a time that depends on the length of `given` alone.
bool same_token(std::string_view token, std::string_view given);

// Throws InvalidArgument for one that has fewer than 16 characters, a blank, or a character beyond ASCII.
void check_token(std::string_view token);

// Reads a token: the first line of a file. Throws InvalidArgument or IoError.
std::string read_token(const std::string& path);

// Whether an address can be reached from this machine alone: 127.0.0.0/8 or ::1.
bool is_loopback(const std::string& address);

class Guard {
 public:
  explicit Guard(const ServeOptions& options);

  // The response to a request that is refused whatever it asks. A web page of another site can make a browser send
  // requests here, under a name of its own that leads to this address: so names are checked, and the origin.
  std::optional<Response> refusal(const RequestHead& head, bool is_open, bool is_write) const;

 private:
  bool is_known_host(std::string_view host) const;
  bool has_token(const RequestHead& head) const;

  std::string token_;
  bool reads_need_token_;
  std::vector<std::string> hosts_;
};

}  // namespace culmen::serve
