#include "base/temporary_files.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <new>
#include <system_error>
#include <utility>

#include "base/descriptor.h"
#include "base/page_size.h"
#include "culmen/error.h"

namespace culmen {
namespace {

// Smaller arrays are on the heap: making a file costs more than it saves.
constexpr std::size_t kLeastBytes = std::size_t{256} << 10;

class File {
 public:
  explicit File(const std::string& directory) : descriptor_(above_standard_streams(open(directory))) {
    if (descriptor_ < 0)
      throw IoError("cannot make a temporary file in " + directory + ": " +
                    std::generic_category().message(errno) +
                    "; name a directory that is there and can be written, and keep it as long as what is "
                    "built in it is changed");
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  ~File() { ::close(descriptor_); }  // a mapping keeps the file

  int get() const { return descriptor_; }

 private:
  static int open(const std::string& directory) {
    const int unnamed = ::open(directory.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (unnamed >= 0 || (errno != EOPNOTSUPP && errno != EISDIR)) return unnamed;
    // Some file systems, such as NFS, have no files without names.
    std::string name = directory + "/culmen-XXXXXX";
    const int named = ::mkostemp(name.data(), O_CLOEXEC);
    if (named >= 0) ::unlink(name.c_str());
    return named;
  }

  int descriptor_;
};

void reserve(const File& file, std::size_t num_bytes, const std::string& directory) {
  int error = EINTR;
  while (error == EINTR) error = ::posix_fallocate(file.get(), 0, static_cast<off_t>(num_bytes));
  if (error != 0)
    throw IoError("cannot reserve " + std::to_string(num_bytes) + " bytes for a temporary file in " +
                  directory + ": " + std::generic_category().message(error) +
                  "; name a directory with more room");
}

void* map(void* where, std::size_t num_bytes, const std::string& directory) {
  const File file(directory);
  reserve(file, num_bytes, directory);
  const int flags = MAP_SHARED | (where == nullptr ? 0 : MAP_FIXED);
  void* const memory = ::mmap(where, num_bytes, PROT_READ | PROT_WRITE, flags, file.get(), 0);
  if (memory != MAP_FAILED) return memory;
  if (errno == ENOMEM) throw std::bad_alloc();
  throw IoError("cannot map a temporary file in " + directory + ": " +
                std::generic_category().message(errno) + "; name a directory of a local disk");
}

}  // namespace

void* TemporaryFiles::allocate(std::size_t num_bytes) {
  if (num_bytes < kLeastBytes) return ::operator new(num_bytes);
  return map(nullptr, whole_pages(num_bytes), directory_);
}

void TemporaryFiles::deallocate(void* array, std::size_t num_bytes) noexcept {
  if (num_bytes < kLeastBytes) return ::operator delete(array);
  ::munmap(array, whole_pages(num_bytes));
}

void TemporaryFiles::map_at(void* where, std::size_t num_bytes) const {
  map(where, num_bytes, directory_);
}

std::shared_ptr<TemporaryFiles> temporary_files(const std::filesystem::path& directory) {
  if (directory.empty()) return nullptr;
  const std::string whole =
      std::filesystem::absolute(directory).string();  // the process may go to another one
  const File can_be_made(whole);
  return std::make_shared<TemporaryFiles>(whole);
}

}  // namespace culmen
