// trainer/TensorFile.cpp - safetensors: length, JSON header, raw data.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "trainer/TensorFile.h"

#include "support/Error.h"
#include "support/File.h"

#include <ATen/ATen.h>
#include <cstring>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace tessera::trainer {
namespace {

using nlohmann::json;

constexpr size_t alignment = 64;

[[noreturn]] void malformed(const std::string &path, const std::string &what) {
  throw Error(fmt::format("{} is not a usable tensor file: {}", path, what),
              "remove its checkpoint folder to go on from the one before");
}

/// Place and length of one tensor's data, checked against what is wanted.
std::pair<size_t, size_t> locate(const json &header, const std::string &path,
                                 const models::Parameter &wanted,
                                 size_t available) {
  if (!header.contains(wanted.name))
    malformed(path, wanted.name + " is missing");
  const json &entry = header[wanted.name];
  try {
    const auto shape = entry.at("shape").get<std::vector<int64_t>>();
    const auto range = entry.at("data_offsets").get<std::vector<uint64_t>>();
    if (entry.at("dtype") != "F32" || shape != wanted.value.sizes().vec())
      malformed(path, wanted.name + " has another type or shape");
    if (range.size() != 2 || range[0] > range[1] || range[1] > available ||
        range[1] - range[0] != size_t(wanted.value.numel()) * sizeof(float))
      malformed(path, wanted.name + " lies outside the file");
    return {range[0], range[1] - range[0]};
  } catch (const json::exception &) {
    malformed(path, wanted.name + " has a broken header entry");
  }
}

} // namespace

void writeTensors(const std::string &path,
                  const std::vector<models::Parameter> &tensors) {
  json header = json::object();
  size_t offset = 0;
  for (const models::Parameter &t : tensors) {
    const size_t bytes = size_t(t.value.numel()) * sizeof(float);
    header[t.name] = {{"dtype", "F32"},
                      {"shape", t.value.sizes().vec()},
                      {"data_offsets", {offset, offset + bytes}}};
    offset += bytes;
  }
  std::string text = header.dump();
  text.resize((text.size() + sizeof(uint64_t) + alignment - 1) / alignment *
                      alignment -
                  sizeof(uint64_t),
              ' ');
  const uint64_t length = text.size();
  std::string bytes(reinterpret_cast<const char *>(&length), sizeof length);
  bytes += text;
  bytes.reserve(bytes.size() + offset);
  for (const models::Parameter &t : tensors) {
    const at::Tensor data = t.value.detach().contiguous();
    bytes.append(static_cast<const char *>(data.const_data_ptr()),
                 size_t(data.numel()) * sizeof(float));
  }
  writeFile(path, bytes);
}

void readTensors(const std::string &path,
                 const std::vector<models::Parameter> &tensors) {
  const std::string bytes = readFile(path);
  uint64_t length = 0;
  if (bytes.size() < sizeof length)
    malformed(path, "it is too short");
  std::memcpy(&length, bytes.data(), sizeof length);
  if (length > bytes.size() - sizeof length)
    malformed(path, "its header is longer than the file");
  const size_t start = sizeof length + length;
  const json header =
      json::parse(bytes.data() + sizeof length, bytes.data() + start, nullptr,
                  /*allow_exceptions=*/false);
  if (!header.is_object())
    malformed(path, "its header is not JSON");
  if (header.size() - header.count("__metadata__") != tensors.size())
    malformed(path, fmt::format("it holds {} tensors, the model has {}",
                                header.size(), tensors.size()));
  std::vector<std::pair<size_t, size_t>> places;
  for (const models::Parameter &t : tensors)
    places.push_back(locate(header, path, t, bytes.size() - start));
  for (size_t i = 0; i < tensors.size(); ++i)
    std::memcpy(tensors[i].value.detach().data_ptr(),
                bytes.data() + start + places[i].first, places[i].second);
}

} // namespace tessera::trainer
