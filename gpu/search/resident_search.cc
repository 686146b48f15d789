#include "gpu/search/resident_search.h"

#include <atomic>
#include <cstring>
#include <span>

#include "gpu/search/pack_functions.h"
#include "gpu/search/pack_query.h"

namespace culmen::gpu {
namespace {

using Word = std::atomic_ref<std::uint64_t>;

// The device's other multiprocessors go on with other work meanwhile.
cuda::Limits part_of(cuda::Limits limits) {
  limits.num_multiprocessors -= limits.num_multiprocessors / 8;
  return limits;
}

}  // namespace

struct ResidentSearch::Session {
  explicit Session(const cuda::Limits& limits)
      : mailbox(1, cuda::Memory::pinned), state(1), workspace(limits) {
    *mailbox.data() = {};
    cuda::check(cudaMemsetAsync(state.data(), 0, sizeof(ResidentState), workspace.stream().get()));
  }
  ~Session() { tell_to_leave(); }
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  bool is_there() const {
    return num_launches > 0 && Word(mailbox.data()->has_left).load(std::memory_order_acquire) != num_launches;
  }
  void tell_to_leave() const {
    Word(mailbox.data()->to_leave).store(num_launches, std::memory_order_release);
  }
  void leave() const {
    tell_to_leave();
    workspace.stream().synchronize();
  }

  void launch(const MirrorView& view, const GridPlan& plan, std::uint64_t first) {
    version = view.mirror;
    const MirrorRef& mirror = view.mirror->ref();
    const ResidentRef resident = {
        mailbox.data(), state.data(), num_launches + 1, first,
        static_cast<std::uint32_t>(question_bytes(mirror.num_attributes) / sizeof(std::uint32_t))};
    visit_rows(view,
               [&]<typename T>(T) { launch_resident<T>(mirror, resident, plan, workspace.stream().get()); });
    ++num_launches;
  }

  // Writes the words of a question, which a kernel may read at once.
  void send(std::uint64_t number, std::span<const std::byte> question) const {
    std::uint64_t* words = mailbox.data()->words;
    for (std::size_t i = 0; i < question.size() / sizeof(std::uint32_t); ++i) {
      std::uint32_t part = 0;
      std::memcpy(&part, question.data() + i * sizeof(part), sizeof(part));
      Word(words[i]).store(std::uint64_t{part} << 32 | static_cast<std::uint32_t>(number),
                           std::memory_order_relaxed);
    }
  }

  cuda::Buffer<Mailbox> mailbox;
  cuda::Buffer<ResidentState> state;
  std::weak_ptr<const MirrorVersion> version;  // of the latest launch
  std::uint64_t num_launches = 0;
  Workspace workspace;  // destroyed first: it waits for the kernel
};

ResidentSearch::ResidentSearch(const cuda::Limits& limits) : limits_(part_of(limits)) {}
ResidentSearch::~ResidentSearch() = default;

bool ResidentSearch::takes(const MirrorView& view, const ResolvedQuery& query) {
  return query.k <= kMaxSortedHits && query.filter.is_everything() && !needs_functions(query) &&
         view.mirror->ref().num_attributes <= kMaxSharedAttributes &&
         packed_bytes_of(query) <= packed_stride(view.mirror->ref().num_attributes, 0);
}

GridPlan ResidentSearch::plan(const MirrorView& view) const {
  return plan_bounded(view.mirror->ref().num_slots, limits_);
}

ResidentSearch::Turn::Turn(ResidentSearch& search) : search_(search), lock_(search.mutex_) {
  if (search_.session_ == nullptr) search_.session_ = std::make_unique<Session>(search_.limits_);
}

ResidentSearch::Turn::~Turn() {
  if (!has_ended_) search_.session_.reset();
}

Workspace& ResidentSearch::Turn::workspace() const {
  return search_.session_->workspace;
}

void ResidentSearch::Turn::ask(const MirrorView& view, const SearchStateRef& state,
                               const ResolvedQuery& query) {
  Session& session = *search_.session_;
  // A kernel of another version would take the question for its own.
  if (session.is_there() && session.version.lock() != view.mirror) session.leave();
  view_ = &view;
  number_ = state.sequence;
  alignas(8) std::byte question[kMaxQuestionBytes] = {};
  std::memcpy(question, &state, sizeof(state));
  pack_query(query, question + sizeof(state));
  session.send(number_, {question, question_bytes(view.mirror->ref().num_attributes)});
  if (!session.is_there()) session.launch(view, search_.plan(view), number_);
}

const ResultHeader& ResidentSearch::Turn::wait() {
  Session& session = *search_.session_;
  const Workspace& workspace = session.workspace;
  for (unsigned polls = 1; !workspace.has_ended(); ++polls) {
    // The latest launch may have left before it saw the question. One that has seen it answers before it leaves.
    if (!session.is_there() && !workspace.has_ended()) session.launch(*view_, search_.plan(*view_), number_);
    if (polls % kPollsPerLook == 0)
      static_cast<void>(workspace.is_idle());  // throws if the kernel has failed
  }
  return session.workspace.wait();
}

void ResidentSearch::Turn::leave() {
  search_.session_->leave();
}

void ResidentSearch::Turn::end() {
  workspace().trim();
  has_ended_ = true;
}

}  // namespace culmen::gpu
