#include "serve/service.h"

#include <fmt/core.h>
#include <malloc.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <chrono>
#include <cstdint>
#include <exception>
#include <utility>
#include <vector>

#include "coding/answer_json.h"
#include "coding/empty_filter.h"
#include "coding/info_json.h"
#include "coding/question_json.h"
#include "coding/read_json.h"
#include "coding/row_table.h"
#include "coding/text_list.h"
#include "culmen/error.h"
#include "serve/assets.h"
#include "serve/distributions.h"
#include "serve/why.h"

namespace culmen::serve {
namespace {

constexpr int kMaxDepth = 8;  // of JSON
// A batch takes a GPU as long as some dozen questions, one after the other (docs/results/serve.md).
constexpr std::size_t kFewestOnDevices = 12;
constexpr int kNumTaskThreads = 8;  // writes that wait for the disk together share its syncs
constexpr std::size_t kMaxTasks = 256;

// What takes the threads of the connections milliseconds is done by others.
constexpr std::size_t kLargeBody = 16 << 10;
constexpr std::size_t kManyHits = 200;
// A body of JSON takes some fifteen times its size while it is read, which the C library would keep for each thread.
constexpr std::size_t kHugeBody = 1 << 20;

void give_back_memory() {
#ifdef __GLIBC__
  malloc_trim(0);
#endif
}

// Makes the response here, and not where the connection is served.
void reply_now(const Reply& reply, const MakeResponse& make) {
  Response response;
  try {
    response = make();
  } catch (...) {
    response = current_error_response();
  }
  reply([response = std::move(response)] { return response; });
}

Response json_response(const Json& json) {
  return {.body = json_text(json) + '\n'};
}

// A question without k is one of a minimum score: one row more than is allowed shows that there are too many.
void limit_rows(std::vector<Question>& questions, std::size_t max_rows) {
  std::size_t num_rows = 0;
  for (Question& question : questions) {
    const std::size_t k = question.query.k.value_or(max_rows);
    if (k > max_rows || num_rows + k > max_rows)
      throw InvalidArgument(
          fmt::format("the questions of a request may ask for {} rows together: give a smaller k", max_rows));
    num_rows += k;
    if (!question.query.k) question.query.k = max_rows + 1;
  }
}

void check_engines(const std::vector<Question>& questions) {
  for (const Question& question : questions) {
    if (question.engine == Engine::ta || question.engine == Engine::gta)
      throw InvalidArgument(
          fmt::format("engine: the server has auto, bounded and scan, and not {}, which keeps lists of all "
                      "rows in memory",
                      engine_name(question.engine)));
    if (question.engine != questions.front().engine)
      throw InvalidArgument("the questions of a request have one engine");
  }
}

// For work that no queue ends when it takes too long.
SearchOptions limited(Engine engine, const ServeOptions& options, const std::function<bool()>& is_gone) {
  SearchOptions how = {.engine = engine, .num_threads = options.num_threads};
  how.on_progress = [deadline = std::chrono::steady_clock::now() + options.limits.question_time, is_gone](
                        std::size_t, std::size_t) {
    if (std::chrono::steady_clock::now() >= deadline || is_gone()) throw TimeLimit();
  };
  return how;
}

std::uint64_t read_version(const ReadJson& value) {
  const std::int64_t version = read_int64(value, "expected_version");
  if (version < 0) throw InvalidArgument("expected_version: a version is 0 or more");
  return static_cast<std::uint64_t>(version);
}

// One, or of a sharded index one for each shard; none if the request does not say.
std::vector<std::uint64_t> read_expected_versions(const ReadJson::object_t& object, const AnyIndex& index) {
  const auto given = object.find("expected_version");
  if (given == object.end()) return {};
  if (index.sharded() == nullptr) return {read_version(given->second)};
  const std::uint32_t num_shards = index.sharded()->num_shards();
  if (!given->second.is_array() || given->second.size() != num_shards)
    throw InvalidArgument(
        fmt::format("expected_version: a sharded index has a version for each of its {} shards, as /info "
                    "lists them: give an array of {}",
                    num_shards, num_shards));
  std::vector<std::uint64_t> versions;
  for (const ReadJson& version : read_array(given->second, "expected_version"))
    versions.push_back(read_version(version));
  return versions;
}

// Which rows to delete, if the request says so.
std::optional<Filter> read_deletion(const ReadJson::object_t& object, const std::string& name,
                                    const Index& columns) {
  const auto given = object.find(name);
  if (given == object.end()) return std::nullopt;
  const std::string where = read_text(given->second, name);
  refuse_empty_filter(name, where);
  return columns.filter(where);
}

// "Application/JSON; charset=utf-8" too.
bool is_json(std::string_view content_type) {
  constexpr std::string_view kJson = "application/json";
  std::string_view type = content_type.substr(0, content_type.find(';'));
  while (!type.empty() && (type.back() == ' ' || type.back() == '\t')) type.remove_suffix(1);
  return std::equal(type.begin(), type.end(), kJson.begin(), kJson.end(),
                    [](unsigned char a, char b) { return std::tolower(a) == b; });
}

// "1,2" of "1%2C2". What is not written as %XX stays.
std::string percent_decoded(std::string_view text) {
  std::string decoded;
  for (std::size_t i = 0; i < text.size(); ++i) {
    unsigned char byte = 0;
    const char* const digits = text.data() + i + 1;
    if (text[i] == '%' && i + 2 < text.size() &&
        std::from_chars(digits, digits + 2, byte, 16).ptr == digits + 2) {
      decoded += static_cast<char>(byte);
      i += 2;
    } else {
      decoded += text[i];
    }
  }
  return decoded;
}

// Of "ids=1,2,3", or of texts, which are in quotes where --ids has them so: ids=A-1,"b,c".
NamedIds ids_of_target(std::string_view target, IdType type) {
  const std::size_t question = target.find('?');
  const std::string given =
      question == std::string_view::npos ? "" : percent_decoded(target.substr(question + 1));
  if (!given.starts_with("ids=")) throw InvalidArgument("say which rows: /get?ids=1,2");
  const std::string_view list = std::string_view(given).substr(4);
  if (type == IdType::text) return {.type = type, .texts = split_texts(list, "ids")};
  NamedIds ids = {.type = type};
  for (std::string_view rest = list;;) {
    const std::size_t comma = rest.find(',');
    const std::optional<std::int64_t> id = parse_id(rest.substr(0, comma), type);
    if (!id)
      throw InvalidArgument(
          fmt::format("ids: expected {} numbers with commas between them", id_type_name(type)));
    ids.numbers.push_back(*id);
    if (comma == std::string_view::npos) return ids;
    rest.remove_prefix(comma + 1);
  }
}

// `shown`: the columns of those questions that choose them.
std::string answers_text(const std::vector<Question>& questions,
                         const std::vector<std::vector<ShownColumn>>& shown,
                         const std::vector<SearchResult>& results, const IndexView& view,
                         std::size_t max_rows) {
  std::string body = "{\"queries\":[";
  body.reserve(results.empty() ? 0 : 400 * (1 + results.front().hits.size()) * results.size());
  for (std::size_t i = 0; i < results.size(); ++i) {
    if (results[i].hits.size() > max_rows)
      throw InvalidArgument(
          fmt::format("more than {} rows reach min_score: give k, or a higher score", max_rows));
    if (i != 0) body += ",\n";
    write_answer_json(questions[i].query, results[i], view.info, questions[i].show ? shown[i] : view.columns,
                      [&body](std::string_view text) { body += text; });
  }
  return body + "]}\n";
}

}  // namespace

struct Service::Request {
  RequestHead head;
  std::string body;
  std::function<bool()> is_gone;
  Reply reply;
};

struct Service::Route {
  std::string_view path;
  std::string_view method;
  Handler handler;
  bool is_open = false;  // needs no token
  bool is_write = false;
  std::string_view other_method = {};
};

const Service::Route* Service::find_route(std::string_view path) {
  static constexpr std::array<Route, 13> kRoutes = {{
      {"/search", "POST", &Service::search},
      {"/health", "GET", &Service::health, true},
      {"/info", "GET", &Service::info},
      {"/get", "GET", &Service::get, false, false, "POST"},
      {"/explain", "POST", &Service::explain},
      {"/why", "POST", &Service::why},
      {"/distributions", "GET", &Service::distributions},
      {"/insert", "POST", &Service::insert, false, true},
      {"/upsert", "POST", &Service::upsert, false, true},
      {"/erase", "POST", &Service::erase, false, true},
      {"/metrics", "GET", &Service::metrics_text},
      {"/openapi.json", "GET", &Service::open_api, true},
      {"/", "GET", &Service::page, true},
  }};
  const auto found =
      std::find_if(kRoutes.begin(), kRoutes.end(), [&](const Route& route) { return route.path == path; });
  return found == kRoutes.end() ? nullptr : &*found;
}

std::string_view Service::route_of(std::string_view path) {
  const Route* const route = find_route(path);
  return route == nullptr ? "other" : route->path;
}

Service::Service(AnyIndex index, const ServeOptions& options, std::function<void(const std::string&)> report)
    : options_(options),
      guard_(options),
      index_(std::move(index), options, report),
      searcher_(index_.index(), copy_to_devices(index_.index(), options), std::move(report)),
      tasks_(kNumTaskThreads, kMaxTasks),
      queue_([this](std::span<const Query> queries,
                    const SearchOptions& how) { return search_index(queries, how); },
             std::max(2, static_cast<int>(std::thread::hardware_concurrency())), options.limits.waiting,
             options.devices.empty() ? 2 : kFewestOnDevices) {}

std::optional<Response> Service::refusal(const RequestHead& head) const {
  const Route* const route = find_route(head.path());
  const bool is_health = route != nullptr && route->path == "/health";  // for probes of any kind
  const bool is_open = route != nullptr && route->is_open;
  if (!is_health)
    if (std::optional<Response> refused =
            guard_.refusal(head, is_open, options_.writable && route != nullptr && route->is_write))
      return refused;
  const bool is_page = route != nullptr && route->path == "/";
  if (route == nullptr || (is_page && !options_.page))
    return error_response(404, "NotFound", "there is nothing at this path; /openapi.json says what there is");
  const std::string_view method = head.method == "HEAD" ? std::string_view("GET") : head.method;
  if (method != route->method && method != route->other_method) {
    const std::string other = route->other_method.empty() ? "" : fmt::format(" or {}", route->other_method);
    Response response =
        error_response(405, "WrongMethod", fmt::format("ask with {}{}", route->method, other));
    response.fields.emplace_back("Allow", route->method != "GET"        ? "POST"
                                          : route->other_method.empty() ? "GET, HEAD"
                                                                        : "GET, HEAD, POST");
    return response;
  }
  if (route->is_write && !options_.writable)
    return error_response(403, "ReadOnly", "this server takes no changes: culmen serve --writable does");
  if (method == "POST" && !is_json(head.content_type))
    return error_response(415, "WrongType", "send JSON, with Content-Type: application/json");
  return std::nullopt;
}

void Service::answer(const RequestHead& head, std::string body, std::function<bool()> is_gone,
                     const Reply& reply) {
  const bool is_large = body.size() > kLargeBody;
  auto request = std::make_shared<Request>(Request{head, std::move(body), std::move(is_gone), reply});
  const auto handle = [this, request] {
    const Reply to = request->reply;
    try {
      (this->*find_route(request->head.path())->handler)(*request);
    } catch (...) {
      to([response = current_error_response()] { return response; });
    }
  };
  if (!is_large) return handle();
  const bool is_huge = request->body.size() > kHugeBody;
  try {
    tasks_.run([handle, is_huge] {
      handle();
      if (is_huge) give_back_memory();
    });
  } catch (...) {
    reply([response = current_error_response()] { return response; });
  }
}

void Service::later(Reply reply, std::function<Response()> work) {
  tasks_.run([reply = std::move(reply), work = std::move(work)] { reply_now(reply, work); });
}

std::vector<SearchResult> Service::search_index(std::span<const Query> queries,
                                                const SearchOptions& options) {
  SearchOptions how = options;
  if (how.num_threads == kAllCores) how.num_threads = options_.num_threads;
  std::vector<SearchResult> results = searcher_.search(queries, how);
  for (const SearchResult& result : results)
    metrics_.count_rows(result.stats.rows_scored, result.stats.rows_in_index);
  return results;
}

void Service::health(Request& request) {
  request.reply([] { return Response{.body = "{\"status\":\"ok\"}\n"}; });
}

void Service::info(Request& request) {
  request.reply([this] {
    AnyIndex& index = index_.index();
    const std::shared_ptr<const IndexView> view = index_.view();
    const std::vector<ShardInfo> shards =
        index.sharded() == nullptr ? std::vector<ShardInfo>() : index.sharded()->shards();
    return json_response(info_json(view->info, view->schema, index.recovery(), shards));
  });
}

void Service::get(Request& request) {
  NamedIds ids;
  std::optional<std::vector<std::string>> show;
  const IdType type = index_.view()->schema.id_type;
  if (request.head.method == "POST") {
    const ReadJson json = read_json(request.body, kMaxDepth);
    const ReadJson::object_t& object = read_object(json, "the request");
    check_members(object, {"ids", "show"}, "the request");
    if (!object.contains("ids")) throw InvalidArgument("say which rows: \"ids\":[1,2]");
    ids = read_ids(object.at("ids"), "ids", type);
    if (object.contains("show")) show = read_names(object.at("show"), "show");
  } else {
    ids = ids_of_target(request.head.target, type);
  }
  if (ids.size() > options_.limits.rows)
    throw InvalidArgument(
        fmt::format("{} rows are asked for, of {} at most", ids.size(), options_.limits.rows));
  later(request.reply, [this, ids = std::move(ids), show = std::move(show)] {
    const std::shared_ptr<const IndexView> view = index_.view();
    const std::vector<ShownColumn> shown = shown_columns(view->info, show, {}, "show");
    std::string body = "{\"rows\":[";
    for (const std::optional<Row>& row : index_.index().get(ids)) {
      if (body.back() != '[') body += ",\n";
      body += row ? row_text(*row, view->info, shown) : "null";
    }
    return Response{.body = body + "]}\n"};
  });
}

void Service::search(Request& request) {
  const std::shared_ptr<const IndexView> view = index_.view();
  auto questions = std::make_shared<std::vector<Question>>(
      read_questions(request.body, view->names, {.max_depth = kMaxDepth}));
  if (questions->empty()) return request.reply([] { return Response{.body = "{\"queries\":[]}\n"}; });
  limit_rows(*questions, options_.limits.rows);
  check_engines(*questions);
  Asked asked;
  std::vector<std::vector<ShownColumn>> shown(questions->size());
  for (std::size_t i = 0; i < questions->size(); ++i) {
    const Question& question = (*questions)[i];
    if (question.show) shown[i] = shown_columns(view->info, question.show, {}, "show");
    index_.index().check(question.query);
    asked.queries.push_back(question.query);
  }
  asked.engine = questions->front().engine;
  asked.deadline = std::chrono::steady_clock::now() + options_.limits.question_time;
  asked.is_gone = std::move(request.is_gone);
  asked.answer = [reply = std::move(request.reply), questions, view, shown = std::move(shown),
                  max_rows = options_.limits.rows](Answered answered) {
    std::size_t num_hits = 0;
    for (const SearchResult& result : answered.results) num_hits += result.hits.size();
    auto shared = std::make_shared<Answered>(std::move(answered));
    const MakeResponse make = [shared, questions, view, shown, max_rows] {
      if (shared->error) std::rethrow_exception(shared->error);
      return Response{.body = answers_text(*questions, shown, shared->results, *view, max_rows)};
    };
    if (num_hits <= kManyHits) return reply(make);
    reply_now(reply, make);
  };
  // On a GPU a launch for one question is as dear as for many.
  if (!options_.devices.empty() || !queue_.answer_here(asked)) queue_.ask(std::move(asked));
}

void Service::explain(Request& request) {
  const std::shared_ptr<const IndexView> view = index_.view();
  std::vector<Question> questions = read_questions(request.body, view->names, {.max_depth = kMaxDepth});
  limit_rows(questions, options_.limits.rows);
  check_engines(questions);
  later(request.reply, [this, view, questions = std::move(questions), is_gone = std::move(request.is_gone)] {
    const Index& index = index_.index().only("/explain");
    Json plans = Json::array();
    for (const Question& question : questions) {
      const SearchOptions how = limited(question.engine, options_, is_gone);
      plans.push_back(plan_json(question.query, view->info, index.explain(question.query, how)));
    }
    return json_response({{"queries", std::move(plans)}});
  });
}

void Service::why(Request& request) {
  const std::shared_ptr<const IndexView> view = index_.view();
  const ReadJson json = read_json(request.body, kMaxDepth);
  ReadJson::object_t object = read_object(json, "the request");
  if (!object.contains("id")) throw InvalidArgument("say which row: \"id\":7");
  NamedIds id = {.type = view->schema.id_type};
  read_id(object.at("id"), "id", id);
  object.erase("id");
  std::vector<Question> questions = {read_question(object, view->names)};
  check_engines(questions);
  later(request.reply, [this, view, id = std::move(id), question = std::move(questions.front()),
                        is_gone = std::move(request.is_gone)] {
    const SearchOptions how = limited(question.engine, options_, is_gone);
    return json_response(why_json(index_.index(), *view, question, id, how));
  });
}

void Service::distributions(Request& request) {
  later(request.reply, [this] {
    const std::lock_guard lock(distributions_mutex_);  // of several requests one computes
    const std::shared_ptr<const IndexView> view = index_.view();
    if (distributions_.view != view) {
      distributions_.text = json_text(distributions_json(index_.index(), *view)) + '\n';
      distributions_.view = view;
    }
    return Response{.body = distributions_.text};
  });
}

void Service::insert(Request& request) {
  write_rows(request, false);
}

void Service::upsert(Request& request) {
  write_rows(request, true);
}

void Service::write_rows(Request& request, bool replaces) {
  const std::shared_ptr<const IndexView> view = index_.view();
  const ReadJson json = read_json(request.body, kMaxDepth);
  const ReadJson::object_t& object = read_object(json, "the request");
  check_members(object, {"rows", "round_to_float32", "expected_version", "expire", "duplicates"},
                "the request");
  if (!object.contains("rows")) throw InvalidArgument("say which rows: \"rows\":[{\"id\":7,...}]");
  if (read_array(object.at("rows"), "rows").size() > options_.limits.rows)
    throw InvalidArgument(fmt::format("more than {} rows in one request", options_.limits.rows));
  const std::vector<std::uint64_t> expected = read_expected_versions(object, index_.index());
  WriteOptions how;
  if (const auto given = object.find("round_to_float32"); given != object.end()) {
    if (!given->second.is_boolean()) throw InvalidArgument("round_to_float32: expected true or false");
    how.round_to_float32 = given->second.get<bool>();
  }
  if (const auto given = object.find("duplicates"); given != object.end()) {
    if (replaces)
      throw InvalidArgument("duplicates is for /insert; /upsert keeps the last of several rows with one id");
    if (!given->second.is_string())
      throw InvalidArgument("duplicates: expected \"error\", \"first\" or \"last\"");
    how.duplicates = parse_duplicates(given->second.get_ref<const std::string&>());
  }
  const std::optional<Filter> expire = read_deletion(object, "expire", view->names);
  auto table = std::make_shared<Table>(read_rows(object.at("rows"), view->schema));
  if (replaces && table->num_rows > 0 && table->ids.empty() && table->id_type != IdType::text)
    throw InvalidArgument("rows that replace others need their ids");
  if (!expected.empty() && index_.index().sharded() != nullptr && table->ids.empty() &&
      table->id_type != IdType::text)
    throw InvalidArgument(
        "expected_version: rows that a sharded index is to take once, though they are sent twice, need ids");
  later(request.reply, [this, table, how, expected, replaces, expire] {
    WriteBatch batch;
    if (replaces) {
      batch.upsert(table->view());
    } else {
      batch.insert(table->view());
    }
    if (expire) batch.erase_where(*expire);
    const WriteResult result = index_.index().write(batch, how, expected);
    index_.update_view();
    Json done = {{"version", result.version}, {"inserted", result.inserted}, {"replaced", result.replaced}};
    if (expire) done["erased"] = result.erased;
    if (result.first_id >= 0) done["first_id"] = result.first_id;
    if (result.repeated) done["repeated"] = true;
    return json_response(done);
  });
}

void Service::erase(Request& request) {
  const ReadJson json = read_json(request.body, kMaxDepth);
  const ReadJson::object_t& object = read_object(json, "the request");
  check_members(object, {"ids", "where", "expected_version"}, "the request");
  if (object.contains("ids") == object.contains("where"))
    throw InvalidArgument("say which rows: \"ids\":[1,2], or \"where\":\"price > 200\"");
  const std::vector<std::uint64_t> expected = read_expected_versions(object, index_.index());
  const std::optional<Filter> where = read_deletion(object, "where", index_.view()->names);
  NamedIds ids;
  if (!where) ids = read_ids(object.at("ids"), "ids", index_.view()->schema.id_type);
  later(request.reply, [this, ids = std::move(ids), where, expected] {
    WriteBatch batch;
    std::vector<std::string_view> texts;
    if (where) {
      batch.erase_where(*where);
    } else {
      culmen::erase(ids, texts, batch);
    }
    const WriteResult result = index_.index().write(batch, {}, expected);
    index_.update_view();
    Json done = {{"version", result.version}, {"erased", result.erased}};
    if (result.repeated) done["repeated"] = true;
    return json_response(done);
  });
}

void Service::metrics_text(Request& request) {
  request.reply([this] {
    const QueueStats queue = queue_.stats();
    const std::shared_ptr<const IndexView> view = index_.view();
    std::string text = metrics_.text();
    const auto add = [&text](std::string_view name, std::string_view type, std::string_view help,
                             std::uint64_t value) {
      text += fmt::format("# HELP {0} {1}\n# TYPE {0} {2}\n{0} {3}\n", name, help, type, value);
    };
    add("culmen_questions_total", "counter", "Questions that were answered or refused after they waited.",
        queue.queries);
    add("culmen_batches_total", "counter", "Batches that they were answered in.", queue.batches);
    add("culmen_questions_waiting", "gauge", "Questions that wait.", queue.waiting);
    add("culmen_index_rows", "gauge", "Rows of the index.", view->info.num_rows);
    add("culmen_index_version", "gauge", "Version of the index.", view->info.version);
    return Response{.body = std::move(text), .content_type = "text/plain; version=0.0.4; charset=utf-8"};
  });
}

void Service::open_api(Request& request) {
  request.reply([] { return Response{.body = std::string(open_api_text())}; });
}

void Service::page(Request& request) {
  request.reply([] {
    return Response{.body = std::string(page_text()),
                    .content_type = "text/html; charset=utf-8",
                    .fields = {{"Content-Security-Policy",
                                "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; "
                                "connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; "
                                "frame-ancestors 'self' http://localhost:* http://127.0.0.1:*"},  // notebooks
                               {"X-Content-Type-Options", "nosniff"},
                               {"Referrer-Policy", "no-referrer"}}};
  });
}

}  // namespace culmen::serve
