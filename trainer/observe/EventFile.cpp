// trainer/observe/EventFile.cpp - encodes protobuf messages and TFRecord
// framing.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "trainer/observe/EventFile.h"

#include "support/Sync.h"

#include <array>
#include <bit>
#include <chrono>
#include <fcntl.h>
#include <filesystem>
#include <fmt/format.h>
#include <unistd.h>

namespace tessera::trainer {
namespace {

constexpr std::array<uint32_t, 256> crcTable = [] {
  std::array<uint32_t, 256> table = {};
  for (uint32_t byte = 0; byte < 256; ++byte) {
    uint32_t value = byte;
    for (int bit = 0; bit < 8; ++bit)
      value = value >> 1 ^ (value & 1 ? 0x82f63b78u : 0);
    table[byte] = value;
  }
  return table;
}();

template <typename T>
std::string littleEndian(T value) {
  std::string bytes;
  for (size_t i = 0; i < sizeof value; ++i, value = T(value >> 8))
    bytes += char(value & 0xff);
  return bytes;
}

std::string maskedSum(std::string_view bytes) {
  return littleEndian(uint32_t(std::rotr(crc32c(bytes), 15) + 0xa282ead8u));
}

// Encodes protobuf fields: one byte with field number and wire type, then the
// value.
std::string varint(uint64_t value) {
  std::string bytes;
  for (; value >= 128; value >>= 7)
    bytes += char((value & 127) | 128);
  return bytes + char(value);
}
std::string key(int field, int wireType) {
  return {char(field << 3 | wireType)};
}
std::string integerField(int field, int64_t value) {
  return key(field, 0) + varint(uint64_t(value));
}
std::string doubleField(int field, double value) {
  return key(field, 1) + littleEndian(std::bit_cast<uint64_t>(value));
}
std::string floatField(int field, double value) {
  return key(field, 5) + littleEndian(std::bit_cast<uint32_t>(float(value)));
}
std::string bytesField(int field, const std::string &bytes) {
  return key(field, 2) + varint(bytes.size()) + bytes;
}

double wallTime() {
  return std::chrono::duration<double>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

std::string hostName() {
  char name[256] = {};
  return gethostname(name, sizeof name - 1) == 0 && name[0] ? name : "host";
}

} // namespace

uint32_t crc32c(std::string_view bytes) {
  uint32_t sum = ~0u;
  for (const char byte : bytes)
    sum = sum >> 8 ^ crcTable[(sum ^ uint8_t(byte)) & 0xff];
  return ~sum;
}

EventFile::EventFile(std::string folder, int64_t firstStep)
    : folder(std::move(folder)), firstStep(firstStep) {}

bool EventFile::open() {
  if (out)
    return true;
  std::error_code code;
  std::filesystem::create_directories(folder, code);
  const double time = wallTime();
  const std::string name =
      fmt::format("{}/events.out.tfevents.{}.{}.{}", folder, int64_t(time),
                  hostName(), ::getpid());
  out.reset(
      ::open(name.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644));
  constexpr int64_t sessionStart = 1;
  return out && write(doubleField(1, time) + bytesField(3, "brain.Event:2")) &&
         write(doubleField(1, time) + integerField(2, firstStep) +
               bytesField(7, integerField(1, sessionStart)));
}

bool EventFile::write(std::string_view message) {
  const std::string length = littleEndian(uint64_t(message.size()));
  const std::string record =
      length + maskedSum(length) + std::string(message) + maskedSum(message);
  std::string_view left = record;
  if (writeAll(out.get(), left))
    return true;
  // After an incomplete record, TensorBoard cannot read later ones. So the next
  // call opens a new file.
  out.reset();
  return false;
}

bool EventFile::add(int64_t step, const Scalars &scalars) {
  std::string summary;
  for (const auto &[tag, value] : scalars)
    summary += bytesField(1, bytesField(1, tag) + floatField(2, value));
  return open() && write(doubleField(1, wallTime()) + integerField(2, step) +
                         bytesField(5, summary));
}

} // namespace tessera::trainer
