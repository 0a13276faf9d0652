// replay/Buffer.cpp - the memory of a replayed pointer argument.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "replay/Buffer.h"

#include "support/Error.h"
#include "support/File.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <sys/mman.h>
#include <unistd.h>
#include <utility>

namespace tessera::cases {

namespace {
// A small, finite, positive number in every float type. Kernels that read
// slightly outside of their arguments and discard the values therefore work as
// usual. Few stores write this byte.
constexpr char pattern = 0x2d;
constexpr size_t zoneBytes = 64 << 10;

size_t pageBytes() { return size_t(::sysconf(_SC_PAGESIZE)); }
} // namespace

GuardedBuffer::GuardedBuffer(size_t wanted) : bytes(wanted) {
  const size_t page = pageBytes();
  const size_t inner = (zoneBytes + bytes + zoneBytes + page - 1) / page * page;
  mapped = inner + 2 * page;
  void *memory = ::mmap(nullptr, mapped, PROT_NONE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED || ::mprotect(static_cast<char *>(memory) + page,
                                         inner, PROT_READ | PROT_WRITE) != 0) {
    const int error = errno;
    if (memory != MAP_FAILED)
      ::munmap(memory, mapped);
    throw Error("no memory for an argument of " + std::to_string(bytes) +
                    " bytes: " + errnoText(error),
                "replay the case on a machine with more memory");
  }
  mapping = static_cast<char *>(memory);
  begin = mapping + page + zoneBytes;
  std::memset(mapping + page, pattern, inner);
}

GuardedBuffer::~GuardedBuffer() {
  if (mapping)
    ::munmap(mapping, mapped);
}

GuardedBuffer::GuardedBuffer(GuardedBuffer &&other) noexcept
    : mapping(std::exchange(other.mapping, nullptr)), mapped(other.mapped),
      begin(other.begin), bytes(other.bytes) {}

std::string GuardedBuffer::damage() const {
  const size_t page = pageBytes();
  const char *low = mapping + page;
  const char *high = mapping + mapped - page;
  for (const char *at = begin - 1; at >= low; --at)
    if (*at != pattern)
      return std::to_string(begin - at) + " bytes before its beginning";
  for (const char *at = begin + bytes; at < high; ++at)
    if (*at != pattern)
      return std::to_string(at - (begin + bytes)) + " bytes past its end";
  return {};
}

const char *storedName(DType type) {
  switch (type) {
  case DType::I1:
    return "BOOL";
  case DType::I8:
    return "I8";
  case DType::I16:
    return "I16";
  case DType::I32:
    return "I32";
  case DType::I64:
    return "I64";
  case DType::U8:
    return "U8";
  case DType::U16:
    return "U16";
  case DType::U32:
    return "U32";
  case DType::U64:
    return "U64";
  case DType::FP16:
    return "F16";
  case DType::BF16:
    return "BF16";
  case DType::FP32:
    return "F32";
  case DType::FP64:
    return "F64";
  case DType::FP8E4NV:
    return "F8_E4M3";
  case DType::FP8E5:
    return "F8_E5M2";
  }
  return "";
}

// True if the stored type can represent `type`. Tools without unsigned
// integers, booleans or bfloat16 store another type of the same size.
static bool fits(DType type, const std::string &stored) {
  if (stored == storedName(type))
    return true;
  if (storedBytes(stored) != elementBytes(type) || stored.starts_with("F8"))
    return false;
  return !stored.starts_with("F") && stored != "BF16" &&
         (!isFloat(type) || elementBytes(type) <= 2);
}

StoredForm storedForm(const CaseArgument &argument, const StoredTensor &stored,
                      const std::string &what) {
  if (!fits(*argument.type, stored.dtype))
    throw Error(what + " holds " + stored.dtype + ", case.json says " +
                    argument.dtype,
                "record the case again, or correct the dtype");
  const int64_t n = stored.count();
  const int64_t count = argument.layout.count(what);
  const int64_t span = argument.layout.span(what);
  if (n == span)
    return StoredForm::Storage;
  if (n == count && (n < span || argument.layout.overlaps()))
    return StoredForm::Logical;
  if (n > span)
    return StoredForm::Storage;
  throw Error(
      what + " has " + std::to_string(n) +
          " elements; its shape and strides need " + std::to_string(span) +
          (count != span
               ? " (or " + std::to_string(count) + " in row-major order)"
               : std::string()),
      "record the case again, or correct shape and strides");
}

GuardedBuffer makeBuffer(const CaseArgument &argument,
                         const StoredTensor &stored, const std::string &what,
                         uint64_t *gapsLeft) {
  const size_t size = elementBytes(*argument.type);
  if (storedForm(argument, stored, what) == StoredForm::Storage) {
    GuardedBuffer buffer(stored.bytes.size());
    std::memcpy(buffer.data(), stored.bytes.data(), stored.bytes.size());
    return buffer;
  }
  // The file does not contain the gaps, so its size does not bound them. All
  // gaps are filled with the pattern.
  uint64_t most = mostGapBytes;
  uint64_t &left = gapsLeft ? *gapsLeft : most;
  const uint64_t span = uint64_t(argument.layout.span(what));
  const uint64_t stretch = span - std::min(span, uint64_t(stored.count()));
  if (stretch > left / size)
    throw Error(what + ": its strides put " + std::to_string(stored.count()) +
                    " elements into " + std::to_string(span >> 20) +
                    " Mi elements of memory; a case may take 1 GiB beyond what "
                    "its files hold",
                "record a smaller launch, or correct the strides");
  left -= stretch * size;
  GuardedBuffer buffer(size_t(span) * size);
  for (int64_t i = 0; i < stored.count(); ++i)
    std::memcpy(buffer.data() + size_t(argument.layout.offset(i)) * size,
                stored.bytes.data() + size_t(i) * size, size);
  return buffer;
}

std::string gather(const CaseArgument &argument, std::string_view storage) {
  const int64_t count = argument.layout.count(argument.name);
  const size_t size = elementBytes(*argument.type);
  if (argument.layout.contiguous())
    return std::string(storage.substr(0, size_t(count) * size));
  std::string bytes;
  bytes.reserve(size_t(count) * size);
  for (int64_t i = 0; i < count; ++i)
    bytes.append(storage, size_t(argument.layout.offset(i)) * size, size);
  return bytes;
}

std::string gather(const CaseArgument &argument, const StoredTensor &stored,
                   const std::string &what) {
  return storedForm(argument, stored, what) == StoredForm::Logical
             ? stored.bytes
             : gather(argument, stored.bytes);
}

int64_t gapDifference(const CaseArgument &argument, std::string_view a,
                      std::string_view b) {
  const size_t size = elementBytes(*argument.type);
  const int64_t total = int64_t(std::min(a.size(), b.size()) / size);
  const int64_t count = argument.layout.count(argument.name);
  if (argument.layout.contiguous() && count == total)
    return -1;
  std::vector<bool> covered(static_cast<size_t>(total));
  for (int64_t i = 0; i < count; ++i)
    covered[size_t(argument.layout.offset(i))] = true;
  for (int64_t i = 0; i < total; ++i)
    if (!covered[size_t(i)] &&
        a.substr(size_t(i) * size, size) != b.substr(size_t(i) * size, size))
      return i;
  return -1;
}

} // namespace tessera::cases
