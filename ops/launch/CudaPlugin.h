// ops/launch/CudaPlugin.h - what needs libtorch_cuda: a separate library,
// loaded where a GPU is.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
//
// libtessera_torch.so is linked without torch's CUDA libraries, since it also
// runs where there are none. libtessera_torch_cuda.so beside it is linked with
// them and gives the one object below. A program that wants it links the
// archive tessera_torch_plugin; libtessera_torch.so shows no functions.
#pragma once

#include <c10/util/intrusive_ptr.h>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace c10d {
class Backend;
class Store;
} // namespace c10d

namespace tessera::runtime {

// Torch's own errors come through as c10::Error.
class CudaPlugin {
public:
  // Of this interface; the library gives nothing to a caller of another one.
  static constexpr int version = 1;

  virtual ~CudaPlugin() = default;

  // What torch's caching allocator holds of a GPU. Bytes; `most`: since the
  // start or resetMost().
  struct Memory {
    int64_t allocated = 0, mostAllocated = 0; // by tensors
    int64_t reserved = 0, mostReserved = 0;   // from the driver
    int64_t retries = 0; // allocations that succeeded after a flush
    int64_t failures = 0;
  };
  virtual Memory memory(int gpu) const = 0;
  virtual void resetMost(int gpu) const = 0;
  // Gives what no tensor uses back to the driver.
  virtual void releaseUnused() const = 0;

  // The launches of a step as one CUDA graph.
  class Graph {
  public:
    virtual ~Graph() = default;
    // Runs `step` once, on a stream of its own, and keeps what it launches
    // instead of running it; a step that ran before compiles and loads nothing.
    // What the step throws is thrown on, and there is no graph then. Memory of
    // the step's tensors belongs to the graph.
    virtual void capture(const std::function<void()> &step) = 0;
    // Puts it all on torch's current stream. After capture().
    virtual void replay() = 0;
  };
  virtual std::unique_ptr<Graph> graph(int gpu) const = 0;

  // A process group of NCCL, for ranks 0 to size - 1 that share the store.
  virtual c10::intrusive_ptr<c10d::Backend>
  nccl(c10::intrusive_ptr<c10d::Store> store, int rank, int size,
       std::chrono::milliseconds timeout) const = 0;
};

struct CudaPluginState {
  const CudaPlugin *plugin = nullptr;
  std::string why; // there is none, and what is lost by that
};

// Loads the library from a file, whatever GPU there is.
CudaPluginState loadCudaPlugin(const std::filesystem::path &file);

// That of the process, loaded at the first call where the driver has a GPU,
// from the folder of the program or library that calls, or from lib/ beside
// that folder.
const CudaPluginState &cudaPlugin();

// The same, for `purpose` ("NCCL"). Throws Error where there is none.
const CudaPlugin &requireCudaPlugin(std::string_view purpose);

} // namespace tessera::runtime

// What the library exports: null for another version than its own.
extern "C" __attribute__((visibility("default")))
const tessera::runtime::CudaPlugin *
tessera_torch_cuda_plugin(int version);
