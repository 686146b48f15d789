// Byte sources that decompress another source on the fly, in constant memory.
#pragma once

#include <memory>
#include <string>

#include "table/byte_source.h"

namespace culmen::io {

// All read concatenated members (frames, streams). read() throws InputError with the file and the byte offset if the data is
// damaged, truncated, or followed by other data.
std::unique_ptr<ByteSource> decompress_gzip(std::unique_ptr<ByteSource> compressed, std::string name);
std::unique_ptr<ByteSource> decompress_zstd(std::unique_ptr<ByteSource> compressed, std::string name);
std::unique_ptr<ByteSource> decompress_bzip2(std::unique_ptr<ByteSource> compressed, std::string name);
std::unique_ptr<ByteSource> decompress_xz(std::unique_ptr<ByteSource> compressed, std::string name);

}  // namespace culmen::io
