// runtime/device/cuda/CudaDevice.cpp - the devices of an NVIDIA GPU.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "runtime/device/cuda/CudaDevice.h"

#include "runtime/device/cuda/CudaCode.h"
#include "runtime/device/cuda/CudaKernel.h"
#include "support/Error.h"

#include <array>
#include <atomic>
#include <mutex>

namespace tessera::runtime {

namespace {

class StreamKernel : public LoadedKernel {
public:
  StreamKernel(const CompiledKernel &compiled, const std::string &kernel,
               const std::vector<std::string> &parameters, int ordinal)
      : code(compiled, kernel, parameters, ordinal) {}

  using LoadedKernel::launch;

  void describe(const std::string &configuration,
                const std::string &file) override {
    code.describe(configuration, file);
  }

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
    code.driver.use(); // another library may have set the context
    code.start(grid, addresses, static_cast<cuda::Stream>(stream));
  }

  cuda::CudaCode code;
};

std::string nameOf(int ordinal) {
  return ordinal ? "cuda:" + std::to_string(ordinal) : "cuda";
}

class StreamDevice : public LaunchDevice {
public:
  explicit StreamDevice(int ordinal)
      : LaunchDevice(nameOf(ordinal)), ordinal(ordinal) {}
  const std::string &target() const override {
    return cuda::Driver::instance(ordinal).target();
  }
  bool hostMemory() const override { return false; }
  bool capturing(void *stream) const override {
    const auto &driver = cuda::Driver::instance(ordinal);
    driver.use();
    int status = 0;
    driver.check(driver.api().StreamIsCapturing(
                     static_cast<cuda::Stream>(stream), &status),
                 "asking whether a CUDA graph is captured");
    return status != 0;
  }
  std::shared_ptr<LoadedKernel>
  load(const CompiledKernel &compiled, const std::string &kernel,
       const std::vector<std::string> &parameters) const override {
    return loadStreamKernel(compiled, kernel, parameters, ordinal);
  }

private:
  const int ordinal;
};

class CheckDevice : public LaunchDevice {
public:
  CheckDevice() : LaunchDevice("cuda:check") {}
  const std::string &target() const override {
    return cuda::Driver::instance().target();
  }
  std::shared_ptr<LoadedKernel>
  load(const CompiledKernel &compiled, const std::string &kernel,
       const std::vector<std::string> &parameters) const override {
    return loadCudaKernel(compiled, kernel, parameters);
  }
};

// Upper bound on the GPUs of a machine; lookup takes no lock.
constexpr int mostGpus = 64;
std::array<std::atomic<const LaunchDevice *>, mostGpus> streamDevices;

} // namespace

void registerCudaDevices() {
  registerDevice(std::make_unique<StreamDevice>(0));
  registerDevice(std::make_unique<CheckDevice>());
}

static const LaunchDevice &addStreamDevice(int ordinal) {
  static std::mutex mutex;
  std::lock_guard<std::mutex> guard(mutex);
  auto &known = streamDevices[size_t(ordinal)];
  if (const LaunchDevice *device = known.load())
    return *device;
  static_cast<void>(cuda::Driver::instance(ordinal)); // throws
  if (ordinal)
    registerDevice(std::make_unique<StreamDevice>(ordinal));
  const LaunchDevice &device = findLaunchDevice(nameOf(ordinal));
  known.store(&device, std::memory_order_release);
  return device;
}

DeviceHandle cudaDevice(int ordinal) {
  if (ordinal < 0 || ordinal >= mostGpus)
    throw Error("no GPU " + std::to_string(ordinal), "number them from 0");
  if (const LaunchDevice *device = streamDevices[size_t(ordinal)].load(
          std::memory_order_acquire)) [[likely]]
    return DeviceHandle(*device);
  return DeviceHandle(addStreamDevice(ordinal));
}

std::shared_ptr<LoadedKernel>
loadStreamKernel(const CompiledKernel &compiled, const std::string &kernel,
                 const std::vector<std::string> &parameters, int ordinal) {
  return std::make_shared<StreamKernel>(compiled, kernel, parameters, ordinal);
}

int multiprocessorCount(int ordinal) {
  constexpr int attribute = 16; // CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT
  return cuda::Driver::instance(ordinal).attribute(attribute);
}

} // namespace tessera::runtime
