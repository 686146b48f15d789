// KeptCodes: the code table of an index (OpenOptions::codes), as long as its tree is the one that is searched.
#pragma once

#include <memory>
#include <mutex>
#include <utility>

#include "base/with_threads.h"
#include "cpu/code_table.h"
#include "culmen/error.h"
#include "culmen/open.h"
#include "gpu/search/device_code_table.h"
#include "index/logged_rows.h"

namespace culmen {

class KeptCodes {
 public:
  KeptCodes() = default;
  // Throws InvalidArgument.
  explicit KeptCodes(const OpenOptions& options) : in_(options.codes), device_(options.codes_device) {
    if (in_ == CodesIn::files) return;
    if (options.writable)
      throw InvalidArgument(
          "codes are kept for readers: open the index without `writable`, or with its codes in files");
    if (options.max_memory == kUnlimitedMemory)
      throw InvalidArgument(
          "codes are kept for an index with a limit of memory; without one they are in memory with all rows");
  }

  // Makes the table of the version's tree in files, unless it has it: reads every leaf. If that throws, it keeps what it has.
  // Called by one thread at a time.
  void follow(const Snapshot& version, int num_threads) {
    if (in_ == CodesIn::files) return;
    const Snapshot& tree = base_tree_of(version);
    if (tree.num_rows == 0 || find(tree) != nullptr) return;
    try {
      set(make(tree, num_threads));
    } catch (const OutOfDeviceMemory&) {
      if (!set(nullptr)) throw;  // there was none whose room could be given back
      set(make(tree, num_threads));
    }
  }

  // Null: there is none of this tree.
  std::shared_ptr<const cpu::CodeTable> find(const Snapshot& tree) const {
    const std::lock_guard lock(mutex_);
    return table_ != nullptr && table_->is_of(tree) ? table_ : nullptr;
  }

 private:
  std::shared_ptr<const cpu::CodeTable> make(const Snapshot& tree, int num_threads) const {
    return with_threads(num_threads, [&]() -> std::shared_ptr<const cpu::CodeTable> {
      if (in_ == CodesIn::device) return gpu::make_code_table(tree, device_);
      return cpu::make_code_table(tree);
    });
  }
  // Returns whether there was one before.
  bool set(std::shared_ptr<const cpu::CodeTable> table) {
    const std::lock_guard lock(mutex_);
    table_.swap(table);
    return table != nullptr;
  }

  const CodesIn in_ = CodesIn::files;
  const int device_ = 0;
  mutable std::mutex mutex_;
  std::shared_ptr<const cpu::CodeTable> table_;
};

}  // namespace culmen
