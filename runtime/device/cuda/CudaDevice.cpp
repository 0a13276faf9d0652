// runtime/device/cuda/CudaDevice.cpp - the devices of an NVIDIA GPU.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "runtime/device/cuda/CudaDevice.h"

#include "runtime/device/cuda/CudaCode.h"
#include "runtime/device/cuda/CudaKernel.h"

namespace tessera::runtime {

namespace {

class StreamKernel : public LoadedKernel {
public:
  StreamKernel(const CompiledKernel &compiled, const std::string &kernel,
               const std::vector<std::string> &parameters)
      : code(compiled, kernel, parameters) {}

  using LoadedKernel::launch;

  void launch(const Grid &grid, std::span<const Arg> args,
              void *stream) override {
    if (!grid[0] || !grid[1] || !grid[2])
      return;
    code.arguments.checkGrid(grid);
    constexpr size_t few = 64;
    const size_t count = code.arguments.slots().size();
    if (count <= few) [[likely]] {
      GpuArguments::Value values[few];
      void *addresses[few];
      return start(grid, args, stream, values, addresses);
    }
    std::vector<GpuArguments::Value> values(count);
    std::vector<void *> addresses(count);
    start(grid, args, stream, values.data(), addresses.data());
  }

private:
  void start(const Grid &grid, std::span<const Arg> args, void *stream,
             GpuArguments::Value *values, void **addresses) const {
    code.arguments.fill(args, values);
    for (size_t i = 0; i < code.arguments.slots().size(); ++i)
      addresses[i] = values[i].data();
    code.driver.use(); // the thread's context may be another library's
    code.start(grid, addresses, static_cast<cuda::Stream>(stream));
  }

  const cuda::CudaCode code;
};

class CudaDevice : public LaunchDevice {
public:
  explicit CudaDevice(bool checked)
      : LaunchDevice(checked ? "cuda:check" : "cuda"), checked(checked) {}
  const std::string &target() const override {
    return cuda::Driver::instance().target();
  }
  bool hostMemory() const override { return checked; }
  std::shared_ptr<LoadedKernel>
  load(const CompiledKernel &compiled, const std::string &kernel,
       const std::vector<std::string> &parameters) const override {
    if (checked)
      return loadCudaKernel(compiled, kernel, parameters);
    return loadStreamKernel(compiled, kernel, parameters);
  }

private:
  const bool checked;
};

} // namespace

void registerCudaDevices() {
  for (bool checked : {false, true})
    registerDevice(std::make_unique<CudaDevice>(checked));
}

std::shared_ptr<LoadedKernel>
loadStreamKernel(const CompiledKernel &compiled, const std::string &kernel,
                 const std::vector<std::string> &parameters) {
  return std::make_shared<StreamKernel>(compiled, kernel, parameters);
}

} // namespace tessera::runtime
