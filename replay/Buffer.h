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

// 64-byte aligned memory between two zones of a known pattern, and those
// between two pages that nobody may touch.
class GuardedBuffer {
public:
  explicit GuardedBuffer(size_t bytes); // throws Error when there is no memory
  ~GuardedBuffer();
  GuardedBuffer(GuardedBuffer &&other) noexcept;
  GuardedBuffer &operator=(GuardedBuffer &&) = delete;

  char *data() const { return begin; }
  size_t size() const { return bytes; }
  std::string_view view() const { return {begin, bytes}; }
  // Empty, or where the zones were written: "8 bytes behind its end".
  std::string damage() const;

private:
  char *mapping = nullptr;
  size_t mapped = 0;
  char *begin = nullptr;
  size_t bytes = 0;
};

// How the tensor of a file lies: as its storage from the lowest address on
// (the form the format asks for), possibly longer than the tensor needs, or,
// when it has as many elements as the shape and not as many as the storage,
// as the elements in row-major order.
enum class StoredForm { Storage, Logical };

// Throws Error (naming `what`, a file and tensor) when the tensor's type or
// length fit neither.
StoredForm storedForm(const CaseArgument &argument, const StoredTensor &stored,
                      const std::string &what);

// The recorded tensor of an argument; `tensors` are those of `file`, before or
// after the launch. One without elements may be missing. Throws Error.
StoredTensor tensorOf(const LoadedCase &loaded, const Tensors &tensors,
                      const char *file, const CaseArgument &argument);

// Fills a new buffer from the file's tensor; what the tensor does not cover
// gets the pattern. Throws Error when strides ask for more memory between the
// elements than `gapsLeft` (default: mostGapBytes), which is lowered by it.
inline constexpr uint64_t mostGapBytes = uint64_t(1) << 30;
GuardedBuffer makeBuffer(const CaseArgument &argument,
                         const StoredTensor &stored, const std::string &what,
                         uint64_t *gapsLeft = nullptr);

// Elements of a storage in row-major order of the shape, packed.
std::string gather(const CaseArgument &argument, std::string_view storage);
// The same from a tensor of a file.
std::string gather(const CaseArgument &argument, const StoredTensor &stored,
                   const std::string &what);

// Where storages differ outside of the tensor's elements; -1: nowhere.
int64_t gapDifference(const CaseArgument &argument, std::string_view a,
                      std::string_view b);

// "BF16" for DType::BF16.
const char *storedName(DType type);

} // namespace tessera::cases
