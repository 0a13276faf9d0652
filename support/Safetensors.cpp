// support/Safetensors.cpp - the header of the safetensors format.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "support/Safetensors.h"

#include "support/Json.h"
#include "support/ShallowJson.h"

#include <algorithm>

namespace tessera {

namespace {

struct StoredType {
  const char *name;
  size_t bytes;
};
constexpr StoredType storedTypes[] = {
    {"BOOL", 1},    {"U8", 1},      {"I8", 1},  {"F8_E4M3", 1},
    {"F8_E5M2", 1}, {"F8_E8M0", 1}, {"U16", 2}, {"I16", 2},
    {"F16", 2},     {"BF16", 2},    {"U32", 4}, {"I32", 4},
    {"F32", 4},     {"U64", 8},     {"I64", 8}, {"F64", 8},
};
constexpr size_t prefixBytes = 8;
// The format limits headers to this size.
constexpr uint64_t maxHeaderBytes = 100'000'000;

std::vector<std::string> storedNames() {
  std::vector<std::string> names;
  for (const StoredType &type : storedTypes)
    names.push_back(type.name);
  return names;
}

[[noreturn]] void damaged(const std::string &name, const std::string &what) {
  throw Error(name + ": " + what,
              "the file is damaged or no safetensors file: record it again, "
              "or copy it anew");
}

// Reads an integer >= 0. Returns false for other values, including 1.0 and
// true.
bool readSize(const Json &value, uint64_t &result) {
  if (!value.is_number_unsigned())
    return false;
  result = value.get<uint64_t>();
  return true;
}

// Returns a tensor's place. The header ends at `start`; `available` bytes
// follow.
StoredPlace locate(const std::string &file, const std::string &name,
                   const Json &entry, size_t start, size_t available) {
  const std::string what = "tensor `" + name + "`";
  if (!entry.is_object() || !entry.contains("dtype") ||
      !entry["dtype"].is_string() || !entry.contains("shape") ||
      !entry["shape"].is_array() || !entry.contains("data_offsets") ||
      !entry["data_offsets"].is_array() || entry["data_offsets"].size() != 2)
    damaged(file, what + " lacks dtype, shape or data_offsets");
  StoredPlace place;
  place.dtype = entry["dtype"].get<std::string>();
  const size_t size = storedBytes(place.dtype);
  if (!size)
    throw Error(file + ": " + what + " has the dtype `" + place.dtype + "`",
                nearestNameHint(place.dtype, storedNames(), "dtypes"));
  unsigned __int128 bytes = size;
  for (const Json &dimension : entry["shape"]) {
    uint64_t length = 0;
    if (!readSize(dimension, length) || length > INT64_MAX)
      damaged(file, what + " has a shape that is not a list of sizes");
    place.shape.push_back(int64_t(length));
    bytes *= length;
    // An empty tensor may have huge dimensions in addition to the 0.
    if (bytes > available &&
        std::find(entry["shape"].begin(), entry["shape"].end(), 0) ==
            entry["shape"].end())
      damaged(file, what + " is longer than the file");
    if (bytes > (unsigned __int128)(1) << 63)
      bytes = (unsigned __int128)(1) << 63;
  }
  uint64_t begin = 0, end = 0;
  if (!readSize(entry["data_offsets"][0], begin) ||
      !readSize(entry["data_offsets"][1], end) || begin > end ||
      end > available)
    damaged(file, what + " has data_offsets outside the file");
  if (end - begin != uint64_t(bytes))
    damaged(file, what + " has " + std::to_string(end - begin) +
                      " bytes, its shape and dtype ask for " +
                      std::to_string(uint64_t(bytes)));
  place.begin = start + begin;
  place.end = start + end;
  return place;
}

} // namespace

size_t storedBytes(std::string_view dtype) {
  for (const StoredType &type : storedTypes)
    if (dtype == type.name)
      return type.bytes;
  return 0;
}

std::map<std::string, StoredPlace> locateTensors(std::string_view bytes,
                                                 const std::string &name) {
  if (bytes.size() < prefixBytes)
    damaged(name, "only " + std::to_string(bytes.size()) + " bytes long");
  uint64_t length = 0;
  for (size_t i = prefixBytes; i-- > 0;)
    length = length << 8 | uint8_t(bytes[i]);
  if (length > maxHeaderBytes || length > bytes.size() - prefixBytes)
    damaged(name, "the header would be " + std::to_string(length) +
                      " bytes long, the file is " +
                      std::to_string(bytes.size()));
  const Json header = parseShallowJson(bytes.substr(prefixBytes, length));
  if (header.is_discarded())
    damaged(name, "the header is not JSON");
  if (!header.is_object())
    damaged(name, "the header is not a JSON object");
  const size_t start = prefixBytes + length;
  std::map<std::string, StoredPlace> tensors;
  for (const auto &item : header.items())
    if (item.key() != "__metadata__")
      tensors[item.key()] =
          locate(name, item.key(), item.value(), start, bytes.size() - start);
  return tensors;
}

std::string safetensorsHeader(const Json &header, size_t alignment) {
  const std::string text = canonicalJson(header);
  const size_t used = prefixBytes + text.size();
  const size_t padding = (alignment - used % alignment) % alignment;
  std::string result;
  for (uint64_t i = 0, length = text.size() + padding; i < prefixBytes; ++i)
    result += char(length >> (8 * i) & 0xff);
  return result + text + std::string(padding, ' ');
}

} // namespace tessera
