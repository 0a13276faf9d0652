// runtime/device/cpu/KernelOutput.cpp - what running kernels print and assert.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "runtime/device/cpu/KernelOutput.h"

#include "support/Error.h"
#include "support/Options.h"

#include <bit>
#include <csetjmp>
#include <cstdio>
#include <cstring>

namespace tessera::runtime {

// Maximum number of elements of a block that are printed.
static constexpr int64_t maxElements = 256;

// Jump target of a failed assertion. The jump skips destructors; compiled code
// does not need any.
static thread_local std::jmp_buf *landing = nullptr;

template <typename T>
static T read(const void *data, int64_t index) {
  T value;
  std::memcpy(&value, static_cast<const char *>(data) + index * sizeof(T),
              sizeof(T));
  return value;
}

static float fromHalf(uint16_t bits) {
  uint32_t sign = uint32_t(bits >> 15) << 31, exponent = bits >> 10 & 31,
           fraction = bits & 1023;
  if (exponent == 31)
    return std::bit_cast<float>(sign | 0x7f800000u | fraction << 13);
  if (exponent)
    return std::bit_cast<float>(sign | (exponent + 112) << 23 | fraction << 13);
  float tiny = float(fraction) * 0x1p-24f;
  return sign ? -tiny : tiny;
}

static std::string number(double value, const char *format) {
  char buffer[48];
  std::snprintf(buffer, sizeof buffer, format, value);
  return buffer;
}

std::string formatElement(const char *type, const void *data, int64_t index,
                          bool hex) {
  std::string name = type;
  int bytes = name == "i1"                   ? 1
              : name.find("64") != name.npos ? 8
              : name == "ptr"                ? 8
              : name.find("32") != name.npos ? 4
              : name.find("16") != name.npos ? 2
              : name.find('8') != name.npos  ? 1
                                             : 0;
  if (!bytes)
    return "?";
  uint64_t bits = bytes == 8   ? read<uint64_t>(data, index)
                  : bytes == 4 ? read<uint32_t>(data, index)
                  : bytes == 2 ? read<uint16_t>(data, index)
                               : read<uint8_t>(data, index);
  char buffer[32];
  if (hex || name == "ptr") {
    std::snprintf(buffer, sizeof buffer, "0x%0*llx", 2 * bytes,
                  static_cast<unsigned long long>(bits));
    return buffer;
  }
  if (name == "fp64")
    return number(std::bit_cast<double>(bits), "%.17g");
  if (name == "fp32")
    return number(std::bit_cast<float>(uint32_t(bits)), "%.9g");
  if (name == "bf16")
    return number(std::bit_cast<float>(uint32_t(bits) << 16), "%.5g");
  if (name == "fp16")
    return number(fromHalf(uint16_t(bits)), "%.5g");
  if (name == "i1")
    return bits ? "True" : "False";
  if (name[0] == 'u')
    return std::to_string(bits);
  int shift = 64 - 8 * bytes;
  return std::to_string(int64_t(bits << shift) >> shift);
}

static std::string programText(const uint32_t *pid) {
  return "(" + std::to_string(pid[0]) + ", " + std::to_string(pid[1]) + ", " +
         std::to_string(pid[2]) + ")";
}

Report::Report()
    : table{print, fail, this}, limit(optionNumber(Option::PrintLimit)) {}

bool Report::run(CpuEntry entry, const void *args, const uint32_t pid[3],
                 const uint32_t grid[3], void *scratch) {
  if (failed.load(std::memory_order_relaxed))
    return false;
  std::jmp_buf here;
  landing = &here;
  if (setjmp(here) != 0)
    return false;
  entry(args, pid, grid, scratch);
  return true;
}

void Report::print(Callbacks *callbacks, const char *label, const char *type,
                   const uint32_t *pid, const void *data, int64_t count,
                   int64_t hex) {
  Report &report = *callbacks->owner;
  std::lock_guard<std::mutex> guard(report.mutex);
  if (report.lines > report.limit)
    return;
  if (report.lines++ == report.limit) {
    std::fprintf(stdout,
                 "tessera: the rest of what this launch prints is left out "
                 "(TESSERA_PRINT_LIMIT=%lld)\n",
                 static_cast<long long>(report.limit));
  } else {
    std::string line = "pid " + programText(pid) + " " + label;
    for (int64_t i = 0; i < count && i < maxElements; ++i)
      line += " " + formatElement(type, data, i, hex != 0);
    if (count > maxElements)
      line += " ... (" + std::to_string(count - maxElements) + " more)";
    line += "\n";
    std::fwrite(line.data(), 1, line.size(), stdout);
  }
  std::fflush(stdout);
}

void Report::recordFailure(const char *text, const uint32_t *pid,
                           int64_t element, const char *type,
                           const void *sides) {
  std::lock_guard<std::mutex> guard(mutex);
  if (failed)
    return;
  failed = true;
  message = std::string(text) + "\n  in program " + programText(pid);
  if (element >= 0)
    message += ", element " + std::to_string(element) + " of the block";
  if (*type)
    message += ", comparing " + formatElement(type, sides, 0, false) + " and " +
               formatElement(type, sides, 1, false);
}

void Report::fail(Callbacks *callbacks, const char *text, const uint32_t *pid,
                  int64_t element, const char *type, const void *sides) {
  callbacks->owner->recordFailure(text, pid, element, type, sides);
  std::longjmp(*landing, 1);
}

void Report::finish(const std::string &kernel) const {
  if (failed)
    throw Error("kernel `" + kernel + "`: " + message,
                "the launch was stopped; what other programs wrote stays");
}

} // namespace tessera::runtime
