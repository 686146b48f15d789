// The errors that culmen throws. Every one derives from culmen::Error, and its text says what is wrong.
// After an error the index, the directory and the outputs are as they were before the call.
//
// Two things pass through as they are: std::bad_alloc, when the host's memory runs out, and whatever a
// function throws that the caller has handed in.
#pragma once

#include <stdexcept>

namespace culmen {

class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// The caller asked for something impossible: unknown attribute, k = 0, weights that are not finite, ...
class InvalidArgument : public Error {
 public:
  using Error::Error;
};

// A table cannot be indexed: NaN, an id twice, text in place of a number, ... The text names file, line and
// column.
class InputError : public Error {
 public:
  using Error::Error;
};

// An index file is damaged, foreign or of another format version. The text names the file, and the byte where
// it can.
class FormatError : public Error {
 public:
  using Error::Error;
};

// The operating system refused: no such file, no space, no permission. The text names the path.
class IoError : public Error {
 public:
  using Error::Error;
};

// A CUDA call failed, or there is no device to call. The text names the line that called.
class CudaError : public Error {
 public:
  using Error::Error;
};

// Device memory, or pinned host memory, ran out. What the failed call had allocated is free again.
class OutOfDeviceMemory : public CudaError {
 public:
  using CudaError::CudaError;
};

}  // namespace culmen
