#include "serve/server.h"

#include <sys/resource.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <boost/asio/dispatch.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/basic_stream.hpp>
#include <boost/beast/core/bind_handler.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/status.hpp>
#include <boost/beast/http/string_body.hpp>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "culmen/error.h"

namespace culmen::serve {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
using tcp = asio::ip::tcp;
using boost::system::error_code;
using Clock = std::chrono::steady_clock;
// Handlers of a connection run one at a time. Named types: erased ones take several percent of a quick request.
using Executor = asio::strand<asio::io_context::executor_type>;
using Socket = tcp::socket::rebind_executor<Executor>::other;
using Stream = beast::basic_stream<tcp, Executor>;

std::string text_of(beast::string_view text) {
  return {text.data(), text.size()};
}

std::string head_of(const Response& response, unsigned version, bool keeps_alive) {
  std::string head = version == 10 ? "HTTP/1.0 " : "HTTP/1.1 ";
  head += std::to_string(response.status) + ' ';
  head += text_of(http::obsolete_reason(static_cast<http::status>(response.status)));
  const auto add = [&head](std::string_view name, std::string_view value) {
    head.append("\r\n").append(name).append(": ").append(value);
  };
  add("Content-Type", response.content_type);
  add("Cache-Control", "no-store");
  for (const auto& [name, value] : response.fields) add(name, value);
  if (version == 10 && keeps_alive) add("Connection", "keep-alive");
  if (version != 10 && !keeps_alive) add("Connection", "close");
  add("Content-Length", std::to_string(response.body.size()));
  return head + "\r\n\r\n";
}

// Framing and fields that servers and proxies may read in different ways, so that one takes a request for two. Empty:
// none.
std::string ambiguity_of(const http::fields& head) {
  if (head.count(http::field::transfer_encoding) > 0 &&
      (head.count(http::field::transfer_encoding) > 1 ||
       !beast::iequals(head[http::field::transfer_encoding], "chunked")))
    return "of transfer encodings the server knows chunked alone";
  for (const http::field field :
       {http::field::host, http::field::origin, http::field::content_type, http::field::authorization})
    if (head.count(field) > 1) return "the field " + text_of(http::to_string(field)) + " is there twice";
  return "";
}

// "http://host/path" names the host itself, whatever the Host field says (RFC 9112, 3.2.2).
void take_host_of_target(RequestHead& head) {
  const beast::string_view scheme = "http://";
  if (!beast::iequals(beast::string_view(head.target).substr(0, scheme.size()), scheme)) return;
  const std::size_t end = std::min(head.target.find_first_of("/?", scheme.size()), head.target.size());
  head.host = head.target.substr(scheme.size(), end - scheme.size());
  head.target.erase(0, end);
  if (!head.target.starts_with('/')) head.target.insert(0, "/");
}

class Connection;

// What all connections share.
struct Shared {
  const ServeOptions& options;
  Service& service;
  const std::function<void(const std::string&)>& log;
  std::atomic<bool> stops{false};     // no further request is taken
  std::atomic<bool> gives_up{false};  // nor waited for those that are under way
  std::mutex mutex = {};
  std::set<Connection*> connections = {};  // that exist
};

// One client: reads a request, waits for its response, writes it, and so on. Its handlers run one at a time.
class Connection : public std::enable_shared_from_this<Connection> {
  // A handler of this, which keeps it alive.
  template <typename Method>
  auto bound(Method method) {
    return beast::bind_front_handler(method, shared_from_this());
  }

 public:
  Connection(Socket socket, Shared& shared) : stream_(std::move(socket)), shared_(shared) {
    socket_ = stream_.socket().native_handle();
    const std::lock_guard lock(shared_.mutex);
    shared_.connections.insert(this);
    shared_.service.metrics().connections = shared_.connections.size();
  }
  ~Connection() {
    const std::lock_guard lock(shared_.mutex);
    shared_.connections.erase(this);
    shared_.service.metrics().connections = shared_.connections.size();
  }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  void start() { asio::dispatch(stream_.get_executor(), bound(&Connection::wait_for_request)); }

  // Ends it now if nothing is under way.
  void stop() {
    const std::shared_ptr<Connection> self = weak_from_this().lock();  // null: it is being destroyed
    if (self == nullptr) return;
    asio::post(stream_.get_executor(), [self] {
      if (self->is_idle_) self->close();
    });
  }

 private:
  // Until the first bytes of the next request; those may be here already.
  void wait_for_request() {
    if (shared_.stops) return close();
    parser_.emplace();
    parser_->header_limit(static_cast<std::uint32_t>(shared_.options.limits.header_bytes));
    parser_->body_limit(shared_.options.limits.body_bytes);
    if (buffer_.size() > 0) return read_head();
    is_idle_ = true;
    stream_.expires_after(shared_.options.limits.idle_time);
    stream_.async_read_some(buffer_.prepare(4096), bound(&Connection::on_first_bytes));
  }

  void on_first_bytes(error_code error, std::size_t num_bytes) {
    is_idle_ = false;
    if (error) return close();
    buffer_.commit(num_bytes);
    read_head();
  }

  void read_head() {
    stream_.expires_after(shared_.options.limits.request_time);
    http::async_read_header(stream_, buffer_, *parser_, bound(&Connection::on_head));
  }

  void on_head(error_code error, std::size_t) {
    began_ = Clock::now();
    if (error) return refuse_unread(error);
    const auto& head = parser_->get();
    version_ = head.version();
    head_ = {.method = text_of(head.method_string()),
             .target = text_of(head.target()),
             .host = text_of(head[http::field::host]),
             .origin = text_of(head[http::field::origin]),
             .content_type = text_of(head[http::field::content_type]),
             .authorization = text_of(head[http::field::authorization])};
    take_host_of_target(head_);
    keeps_alive_ = head.keep_alive();
    if (const std::string problem = ambiguity_of(head); !problem.empty()) return refuse_ambiguous(problem);
    if (std::optional<Response> refused = shared_.service.refusal(head_)) {
      has_unread_body_ = !parser_->is_done();
      return write(std::move(*refused));
    }
    if (parser_->is_done()) return answer();
    if (beast::iequals(head[http::field::expect], "100-continue")) return invite_body();
    read_body();
  }

  void invite_body() {
    written_head_ = "HTTP/1.1 100 Continue\r\n\r\n";
    asio::async_write(stream_, asio::buffer(written_head_), bound(&Connection::on_invited));
  }

  void on_invited(error_code error, std::size_t) {
    if (error) return close();
    read_body();
  }

  void read_body() { http::async_read(stream_, buffer_, *parser_, bound(&Connection::on_body)); }

  void on_body(error_code error, std::size_t) {
    if (error) return refuse_unread(error);
    answer();
  }

  void answer() {
    stream_.expires_never();
    const std::shared_ptr<Connection> self = shared_from_this();
    const auto is_gone = [self] { return self->client_is_gone(); };
    const auto reply = [self](MakeResponse make) {
      asio::dispatch(self->stream_.get_executor(), [self, make = std::move(make)] {
        try {
          self->write(make());
        } catch (...) {
          self->write(current_error_response());
        }
      });
    };
    shared_.service.answer(head_, std::move(parser_->get().body()), is_gone, reply);
  }

  // Whether the client does not wait any more. Called by the thread that works on its question. A client that has closed
  // its end may have gone, or only said that it sends no more: it gets what does not take long.
  bool client_is_gone() const {
    if (shared_.gives_up) return true;
    char byte = 0;
    const ssize_t received = recv(socket_, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
    if (received == 0) return Clock::now() >= began_ + std::chrono::seconds(1);
    return received < 0 && errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR;
  }

  void refuse_ambiguous(const std::string& problem) {
    has_unread_body_ = true;  // nobody knows where it ends
    write(error_response(400, "BadRequest", problem));
  }

  // A request that cannot be read to its end, if anything of it came.
  void refuse_unread(error_code error) {
    has_unread_body_ = true;
    if (error == http::error::body_limit) return write(body_too_large());
    if (error == http::error::header_limit || error == http::error::buffer_overflow)
      return write(error_response(431, "HeaderTooLarge", "the header is larger than the server allows"));
    if (error.category() == http::make_error_code(http::error::bad_method).category() &&
        error != http::error::end_of_stream && error != http::error::partial_message)
      return write(error_response(400, "BadRequest", "this is no request of HTTP/1.1: " + error.message()));
    close();  // gone, or too slow
  }

  void write(Response response) {
    const double seconds = std::chrono::duration<double>(Clock::now() - began_).count();
    const std::string_view route = Service::route_of(head_.path());
    shared_.service.metrics().count(route, response.status, seconds);
    if (shared_.options.logs_requests || response.status == 500)
      shared_.log(log_line(head_, response, seconds));
    keeps_alive_ = keeps_alive_ && !shared_.stops && !has_unread_body_;
    written_head_ = head_of(response, version_, keeps_alive_);
    written_body_.clear();
    if (head_.method != "HEAD") written_body_ = std::move(response.body);
    stream_.expires_after(shared_.options.limits.request_time);
    const std::array<asio::const_buffer, 2> both = {asio::buffer(written_head_), asio::buffer(written_body_)};
    asio::async_write(stream_, both, bound(&Connection::on_written));
  }

  void on_written(error_code error, std::size_t) {
    if (!error && has_unread_body_) return close_slowly();
    if (error || !keeps_alive_) return close();
    wait_for_request();
  }

  // A client that still sends would not see the response if this end were closed at once.
  void close_slowly() {
    error_code ignored;
    stream_.socket().shutdown(tcp::socket::shutdown_send, ignored);
    stream_.expires_after(std::chrono::seconds(2));
    discard();
  }

  void discard() {
    buffer_.clear();
    stream_.async_read_some(buffer_.prepare(64 << 10), bound(&Connection::on_discarded));
  }

  void on_discarded(error_code error, std::size_t) {
    if (error || Clock::now() > began_ + std::chrono::seconds(5)) return close();
    stream_.expires_after(std::chrono::seconds(2));
    discard();
  }

  void close() {
    error_code ignored;
    stream_.socket().shutdown(tcp::socket::shutdown_send, ignored);
    stream_.cancel();
  }

  Stream stream_;
  Shared& shared_;
  int socket_ = -1;
  beast::flat_buffer buffer_;
  std::optional<http::request_parser<http::string_body>> parser_;
  std::string written_head_, written_body_;
  RequestHead head_;
  Clock::time_point began_ = Clock::now();
  unsigned version_ = 11;
  bool keeps_alive_ = true;
  bool has_unread_body_ = false;
  bool is_idle_ = false;
};

// Takes connections.
class Listener {
 public:
  Listener(asio::io_context& context, Shared& shared)
      : context_(context), acceptor_(context), pause_(context), shared_(shared) {}

  // Throws IoError.
  tcp::endpoint open() {
    const ServeOptions& options = shared_.options;
    try {
      const std::string address = options.address == "localhost" ? "127.0.0.1" : options.address;
      const tcp::endpoint wanted(asio::ip::make_address(address), options.port);
      acceptor_.open(wanted.protocol());
      acceptor_.set_option(asio::socket_base::reuse_address(true));
      acceptor_.bind(wanted);
      acceptor_.listen(asio::socket_base::max_listen_connections);
    } catch (const boost::system::system_error& error) {
      const bool is_taken = error.code() == asio::error::address_in_use;
      throw IoError(options.address + ", port " + std::to_string(options.port) + ": " +
                    error.code().message() + (is_taken ? "; choose another one with --port" : ""));
    }
    return acceptor_.local_endpoint();
  }

  void accept() {
    acceptor_.async_accept(asio::make_strand(context_), [this](error_code error, Socket socket) {
      if (shared_.stops) return;
      if (error) return wait_and_accept();  // no file descriptor is left, or the client has gone
      take(std::move(socket));
      accept();
    });
  }

  void stop() {
    error_code ignored;
    acceptor_.close(ignored);
    pause_.cancel();
  }

 private:
  void take(Socket socket) {
    {
      const std::lock_guard lock(shared_.mutex);
      if (shared_.connections.size() >= shared_.options.limits.connections) {
        ++shared_.service.metrics().refused_connections;
        return;  // closes it
      }
    }
    error_code ignored;
    socket.set_option(tcp::no_delay(true), ignored);
    std::make_shared<Connection>(std::move(socket), shared_)->start();
  }

  void wait_and_accept() {
    pause_.expires_after(std::chrono::milliseconds(50));
    pause_.async_wait([this](error_code error) {
      if (!error && !shared_.stops) accept();
    });
  }

  asio::io_context& context_;
  tcp::acceptor acceptor_;
  asio::steady_timer pause_;
  Shared& shared_;
};

// Waits for a signal, then for what is under way.
class Stopper {
 public:
  Stopper(asio::io_context& context, Listener& listener, Shared& shared)
      : context_(context),
        listener_(listener),
        shared_(shared),
        signals_(context, SIGTERM, SIGINT),
        timer_(context) {
    signals_.async_wait([this](error_code error, int) {
      if (!error) stop();
    });
  }

 private:
  void stop() {
    shared_.stops = true;
    listener_.stop();
    deadline_ = Clock::now() + shared_.options.limits.stop_time;
    const std::lock_guard lock(shared_.mutex);
    for (Connection* connection : shared_.connections) connection->stop();
    look_again();
  }

  void look_again() {
    timer_.expires_after(std::chrono::milliseconds(10));
    timer_.async_wait([this](error_code) {
      bool is_over = Clock::now() >= deadline_;
      {
        const std::lock_guard lock(shared_.mutex);
        is_over = is_over || shared_.connections.empty();
      }
      if (is_over) {
        context_.stop();
      } else {
        look_again();
      }
    });
  }

  asio::io_context& context_;
  Listener& listener_;
  Shared& shared_;
  asio::signal_set signals_;
  asio::steady_timer timer_;
  Clock::time_point deadline_;
};

// Each connection needs a file descriptor; the usual limit is 1,024.
void raise_file_limit() {
  rlimit limit = {};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
}

}  // namespace

void run_server(const ServeOptions& options, Service& service,
                const std::function<void(const std::string&, std::uint16_t)>& listens,
                const std::function<void(const std::string&)>& log) {
  raise_file_limit();
  const int num_threads = std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  Shared shared = {.options = options, .service = service, .log = log};
  asio::io_context context(num_threads);
  Listener listener(context, shared);
  Stopper stopper(context, listener, shared);
  const tcp::endpoint endpoint = listener.open();
  listener.accept();
  listens(endpoint.address().to_string(), endpoint.port());
  std::vector<std::thread> threads;
  for (int i = 1; i < num_threads; ++i) threads.emplace_back([&context] { context.run(); });
  context.run();
  for (std::thread& thread : threads) thread.join();
  shared.gives_up = true;
  service.stop();  // its threads hold connections, which must not outlive the context
}

}  // namespace culmen::serve
