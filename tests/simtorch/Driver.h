// tests/simtorch/Driver.h - the simulated driver as torch uses it.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
//
// With this library torch's CUDA tensors lie in the memory of the simulated
// driver (tests/simcuda) that TESSERA_CUDA_DRIVER names. It is linked to a
// test, or preloaded into a program.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/Allocator.h>
#include <c10/core/Device.h>
#include <c10/core/Stream.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace __attribute__((visibility("default"))) simtorch {

  // Calls "cuMemAlloc_v2" and the like; what it returns other than 0 is an
  // error of torch's.
  template <typename... Arguments>
  void call(const char *name, Arguments... arguments);
  // A function of the driver.
  void *find(const char *name);
  void check(int result, const char *name);

  template <typename... Arguments>
  void call(const char *name, Arguments... arguments) {
    check(reinterpret_cast<int (*)(Arguments...)>(find(name))(arguments...),
          name);
  }

  // Runs what waits on all streams. Not counted: what torch does on a real GPU
  // without waiting is done on the host here.
  void settle();

  int deviceCount();
  int currentDevice();
  void setDevice(int device); // with its context
  // The calling thread's stream of the device, a CUstream.
  void *currentStream(int device);

  c10::Allocator *allocator();

  // The graph that is being captured. What its operators do on the host is run
  // by the graph, and memory that is given back meanwhile stays.
  struct Capture {
    void *stream = nullptr;
    std::vector<std::unique_ptr<std::function<void()>>> work;
    std::vector<std::shared_ptr<void>> memory;
  };
  // One at a time; null ends it.
  void capture(Capture * into);
  // What the calling thread's stream is captured into; null: it is not.
  Capture *capturing();
  void setCurrentStream(int device, void *stream);

  // The same memory as a tensor of the CPU.
  at::Tensor onHost(const at::Tensor &tensor);

} // namespace simtorch
