// replay/Buffer.h - the memory of a replayed pointer argument.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "replay/Case.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace tessera::cases {

// 64-byte aligned memory between two zones of a known pattern. An inaccessible
// page precedes and follows the zones.
class GuardedBuffer {
public:
  explicit GuardedBuffer(size_t bytes); // throws Error if memory is exhausted
  ~GuardedBuffer();
  GuardedBuffer(GuardedBuffer &&other) noexcept;
  GuardedBuffer &operator=(GuardedBuffer &&) = delete;

  char *data() const { return begin; }
  size_t size() const { return bytes; }
  std::string_view view() const { return {begin, bytes}; }
  // Returns where the zones were written, "8 bytes past its end", or an empty
  // string if they are intact.
  std::string damage() const;

private:
  char *mapping = nullptr;
  size_t mapped = 0;
  char *begin = nullptr;
  size_t bytes = 0;
};

// How a file stores a tensor. Storage: the bytes from the lowest address on
// (the form that the format requires), possibly more than the tensor needs.
// Logical: the elements in row-major order; used if their number equals the
// shape's and differs from the storage's.
enum class StoredForm { Storage, Logical };

// Returns the form of a stored tensor. Throws Error (naming `what`, a file and
// tensor) if its type or length fits neither form.
StoredForm storedForm(const CaseArgument &argument, const StoredTensor &stored,
                      const std::string &what);

// Returns the recorded tensor of an argument; `tensors` are those of `file`,
// before or after the launch. A tensor without elements may be missing. Throws
// Error.
StoredTensor tensorOf(const LoadedCase &loaded, const Tensors &tensors,
                      const char *file, const CaseArgument &argument);

// Creates a buffer from a stored tensor; bytes that the tensor does not cover
// get the pattern. Throws Error if the gaps between the elements exceed
// `gapsLeft` (default: mostGapBytes), which is reduced by their size.
inline constexpr uint64_t mostGapBytes = uint64_t(1) << 30;
GuardedBuffer makeBuffer(const CaseArgument &argument,
                         const StoredTensor &stored, const std::string &what,
                         uint64_t *gapsLeft = nullptr);

// Returns the elements of a storage, packed in row-major order of the shape.
std::string gather(const CaseArgument &argument, std::string_view storage);
// Returns the same from a stored tensor.
std::string gather(const CaseArgument &argument, const StoredTensor &stored,
                   const std::string &what);

// Returns the first offset outside of the tensor's elements at which the
// storages differ, or -1.
int64_t gapDifference(const CaseArgument &argument, std::string_view a,
                      std::string_view b);

// Returns the name of a type in files: "BF16" for DType::BF16.
const char *storedName(DType type);

} // namespace tessera::cases
