// trainer/checkpoint/TensorFile.cpp - converts torch's tensors to and from
// safetensors bytes.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "trainer/checkpoint/TensorFile.h"

#include "support/Error.h"
#include "support/File.h"
#include "support/Safetensors.h"

#include <ATen/ATen.h>
#include <algorithm>
#include <cstring>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

namespace tessera::trainer {
namespace {

constexpr size_t dataAlignment = 64;

[[noreturn]] void refuse(const std::string &path, const std::string &what) {
  throw Error(
      fmt::format("{} does not fit the model: {}", path, what),
      "use the model's settings of the run, which its config.json has. "
      "If the file is damaged, remove its checkpoint folder to continue "
      "from the one before");
}

/// Returns for example "F32 [4, 8]".
std::string formOf(std::string_view type, const std::vector<int64_t> &shape) {
  return fmt::format("{} [{}]", type, fmt::join(shape, ", "));
}

/// Returns the format's name of a type.
const char *storedName(at::ScalarType type, const std::string &tensor) {
  static const std::pair<at::ScalarType, const char *> names[] = {
      {at::kFloat, "F32"},
      {at::kDouble, "F64"},
      {at::kHalf, "F16"},
      {at::kBFloat16, "BF16"},
      {at::kLong, "I64"},
      {at::kInt, "I32"},
      {at::kShort, "I16"},
      {at::kChar, "I8"},
      {at::kUInt64, "U64"},
      {at::kUInt32, "U32"},
      {at::kUInt16, "U16"},
      {at::kByte, "U8"},
      {at::kBool, "BOOL"},
      {at::kFloat8_e4m3fn, "F8_E4M3"},
      {at::kFloat8_e5m2, "F8_E5M2"},
      {at::kFloat8_e8m0fnu, "F8_E8M0"}};
  for (const auto &[known, name] : names)
    if (known == type)
      return name;
  throw Error(fmt::format("the tensor {} has the type {}, which the "
                          "safetensors format cannot hold",
                          tensor, c10::toString(type)),
              "convert it to a real or integer type first");
}

} // namespace

std::string encodeTensors(const std::vector<models::Parameter> &tensors) {
  // Tensors with wide elements come first. The format has no padding, and so
  // each tensor begins at a multiple of its element size.
  std::vector<const models::Parameter *> order;
  for (const models::Parameter &t : tensors)
    order.push_back(&t);
  std::stable_sort(order.begin(), order.end(), [](auto *a, auto *b) {
    return a->value.element_size() > b->value.element_size();
  });
  nlohmann::json header = nlohmann::json::object();
  size_t size = 0;
  for (const models::Parameter *t : order) {
    const size_t end = size + t->value.nbytes();
    header[t->name] = {{"dtype", storedName(t->value.scalar_type(), t->name)},
                       {"shape", t->value.sizes().vec()},
                       {"data_offsets", {size, end}}};
    size = end;
  }
  std::string bytes = safetensorsHeader(header, dataAlignment);
  bytes.reserve(bytes.size() + size);
  for (const models::Parameter *t : order) {
    const at::Tensor data = t->value.detach().cpu().contiguous();
    if (data.nbytes() > 0)
      bytes.append(static_cast<const char *>(data.const_data_ptr()),
                   data.nbytes());
  }
  return bytes;
}

void decodeTensors(std::string_view bytes, const std::string &path,
                   const std::vector<models::Parameter> &tensors) {
  const auto stored = locateTensors(bytes, path);
  if (stored.size() != tensors.size())
    refuse(path, fmt::format("it holds {} tensors, the model has {}",
                             stored.size(), tensors.size()));
  for (const models::Parameter &t : tensors) {
    const auto found = stored.find(t.name);
    if (found == stored.end())
      refuse(path, t.name + " is missing");
    const std::string given = formOf(found->second.dtype, found->second.shape);
    const std::string wanted = formOf(storedName(t.value.scalar_type(), t.name),
                                      t.value.sizes().vec());
    if (given != wanted)
      refuse(path,
             fmt::format("{} is {}, the model's is {}", t.name, given, wanted));
  }
  const at::NoGradGuard noGrad;
  for (const models::Parameter &t : tensors) {
    const StoredPlace &place = stored.at(t.name);
    const at::Tensor data =
        at::empty(t.value.sizes(), t.value.options().device(at::kCPU));
    if (place.end > place.begin)
      std::memcpy(data.data_ptr(), bytes.data() + place.begin,
                  place.end - place.begin);
    t.value.detach().copy_(data);
  }
}

void readTensors(const std::string &path,
                 const std::vector<models::Parameter> &tensors) {
  decodeTensors(readFile(path), path, tensors);
}

} // namespace tessera::trainer
