// Byte sources that decompress another one as it is read. Memory stays constant whatever the ratio.
#pragma once

#include <memory>
#include <string>

#include "table/byte_source.h"

namespace culmen::io {

// Both take concatenated members (frames) one after the other. read() throws InputError naming the file and
// the byte offset when the data is damaged, cut short, or followed by something else.
std::unique_ptr<ByteSource> decompress_gzip(std::unique_ptr<ByteSource> compressed, std::string name);
std::unique_ptr<ByteSource> decompress_zstd(std::unique_ptr<ByteSource> compressed, std::string name);

}  // namespace culmen::io
