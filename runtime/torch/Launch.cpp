// runtime/torch/Launch.cpp - one launch of a kernel on tensors.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "runtime/torch/Launch.h"

#include "runtime/launch/Record.h"
#include "runtime/torch/PythonInterrupt.h"
#include "support/Error.h"

#include <limits>
#include <mutex>
#include <unordered_map>

namespace tessera::runtime {
namespace {

DType dtypeOf(at::ScalarType type) {
  switch (type) {
  case at::kFloat:
    return DType::FP32;
  case at::kHalf:
    return DType::FP16;
  case at::kBFloat16:
    return DType::BF16;
  case at::kDouble:
    return DType::FP64;
  case at::kInt:
    return DType::I32;
  case at::kLong:
    return DType::I64;
  case at::kShort:
    return DType::I16;
  case at::kChar:
    return DType::I8;
  case at::kByte:
    return DType::U8;
  case at::kUInt16:
    return DType::U16;
  case at::kUInt32:
    return DType::U32;
  case at::kUInt64:
    return DType::U64;
  case at::kBool:
    return DType::I1;
  default:
    throw Error(std::string("kernels take no tensor of type ") +
                    c10::toString(type),
                "convert it with .to(), for example to float32 or int32");
  }
}

// Kernels already looked up, so that a launch costs no search for its file.
Kernel kernelOf(const std::string &file, const std::string &name) {
  static std::mutex mutex;
  static std::unordered_map<std::string, Kernel> kernels;
  const std::string key = file + '\n' + name;
  std::lock_guard<std::mutex> lock(mutex);
  auto found = kernels.find(key);
  if (found == kernels.end())
    found = kernels.emplace(key, Kernel::fromFile(file, name)).first;
  return found->second;
}

} // namespace

Pointer pointerTo(const at::Tensor &tensor) {
  Pointer pointer{tensor.data_ptr(), dtypeOf(tensor.scalar_type()), 0};
  if (tensor.numel() == 0)
    return pointer;
  int64_t last = 0; // strides are never negative
  for (int64_t i = 0; i < tensor.dim(); ++i)
    last += (tensor.size(i) - 1) * tensor.stride(i);
  pointer.bytes = static_cast<size_t>(last + 1) * tensor.element_size();
  return pointer;
}

Launch::Launch(const std::string &file, const std::string &kernel)
    : kernel(kernelOf(file, kernel)) {}

Launch &Launch::tensor(const at::Tensor &tensor) {
  if (!tensor.device().is_cpu())
    throw Error("kernel " + kernel.name() + " was given a tensor on " +
                    tensor.device().str(),
                "no CUDA build yet; move the tensors to the CPU with .cpu()");
  args.push_back(pointerTo(tensor));
  tensors.push_back(tensor);
  return *this;
}

Launch &Launch::integer(int64_t value) {
  args.push_back(value);
  return *this;
}

Launch &Launch::real(double value) {
  args.push_back(value);
  return *this;
}

Launch &Launch::strides(const at::Tensor &tensor) {
  return integer(tensor.stride(0)).integer(tensor.stride(1));
}

Launch &Launch::scratch(at::ScalarType type) {
  scratchPlace = args.size();
  args.push_back(Pointer{nullptr, dtypeOf(type)});
  return *this;
}

Launch &Launch::bindScratch(const at::Tensor &tensor) {
  Pointer &place = std::get<Pointer>(args[scratchPlace]);
  place.address = tensor.data_ptr();
  place.bytes = tensor.nbytes();
  tensors.push_back(tensor);
  return *this;
}

Launch &Launch::constant(const std::string &name, int64_t value) {
  constants[name] = value;
  return *this;
}

Launch &Launch::padded(const std::string &name, const std::string &paddedName,
                       int64_t value) {
  return constant(name, value).constant(paddedName, nextPowerOfTwo(value));
}

int64_t Launch::tile(const std::string &name) {
  if (chosen.empty())
    chosen = kernel.configuration(args, constants);
  const auto found = chosen.find(name);
  if (found == chosen.end() || !std::holds_alternative<int64_t>(found->second))
    throw Error("kernel " + kernel.name() + " has no configuration of " + name,
                "add a comment such as `# tessera: cpu(" + name +
                    "=32)` above it");
  return std::get<int64_t>(found->second);
}

void Launch::run(int64_t x, int64_t y, int64_t z) {
  Grid grid;
  size_t at = 0;
  for (int64_t size : {x, y, z}) {
    if (size < 0 || size > std::numeric_limits<int32_t>::max())
      throw Error("kernel " + kernel.name() + ": grid dimension " +
                      std::to_string(at) + " is " + std::to_string(size),
                  "it must lie between 0 and 2^31 - 1");
    grid[at++] = static_cast<uint32_t>(size);
  }
  if (x == 0 || y == 0 || z == 0)
    return;
  if (recording()) {
    std::vector<TensorExtent> extents;
    for (const at::Tensor &tensor : tensors)
      extents.push_back(
          {tensor.data_ptr(), tensor.sizes().vec(), tensor.strides().vec()});
    describeTensors(std::move(extents));
  }
  runForPython(
      [&] { kernel.launch(grid, args, chosen.empty() ? constants : chosen); });
}

} // namespace tessera::runtime
