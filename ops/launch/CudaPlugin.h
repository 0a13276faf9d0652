// ops/launch/CudaPlugin.h - code that needs libtorch_cuda: a separate library,
// loaded on machines with a GPU.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
//
// libtessera_torch.so also runs on machines without torch's CUDA libraries, so
// it does not link them. libtessera_torch_cuda.so, in the same folder, links
// them and exports the object below. Programs that need it link the archive
// tessera_torch_plugin, because libtessera_torch.so exports no functions.
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

// The functions that need libtorch_cuda. Torch's errors pass through as
// c10::Error.
class CudaPlugin {
public:
  // Version of this interface; the library returns null for another one.
  static constexpr int version = 1;

  virtual ~CudaPlugin() = default;

  // Memory of torch's caching allocator on a GPU, in bytes. `most`: maximum
  // since the start or resetMost().
  struct Memory {
    int64_t allocated = 0, mostAllocated = 0; // by tensors
    int64_t reserved = 0, mostReserved = 0;   // from the driver
    int64_t retries = 0; // allocations that succeeded after a flush
    int64_t failures = 0;
  };
  virtual Memory memory(int gpu) const = 0;
  virtual void resetMost(int gpu) const = 0;
  // Returns unused memory to the driver.
  virtual void releaseUnused() const = 0;

  // The launches of a step as one CUDA graph.
  class Graph {
  public:
    virtual ~Graph() = default;
    // Captures `step`: runs it once on a separate stream and records its
    // launches instead of executing them. If the step has run before, nothing
    // is compiled or loaded. Rethrows exceptions of the step; then the graph is
    // empty. The graph owns the memory of the step's tensors.
    virtual void capture(const std::function<void()> &step) = 0;
    // Enqueues the graph on torch's current stream. Requires capture().
    virtual void replay() = 0;
  };
  virtual std::unique_ptr<Graph> graph(int gpu) const = 0;

  // Creates an NCCL process group of ranks 0 to size - 1 that share the store.
  virtual c10::intrusive_ptr<c10d::Backend>
  nccl(c10::intrusive_ptr<c10d::Store> store, int rank, int size,
       std::chrono::milliseconds timeout) const = 0;
};

struct CudaPluginState {
  const CudaPlugin *plugin = nullptr;
  std::string why; // why it is missing, and the consequences
};

// Loads the library from a file, with or without a GPU.
CudaPluginState loadCudaPlugin(const std::filesystem::path &file);

// Returns the plug-in of the process. If the driver has a GPU, the first call
// loads it from the folder of the calling program or library, or from lib/ in
// that folder's parent.
const CudaPluginState &cudaPlugin();

// Returns the plug-in for `purpose` ("NCCL"). Throws Error if it is missing.
const CudaPlugin &requireCudaPlugin(std::string_view purpose);

} // namespace tessera::runtime

// The library's export: null if the versions differ.
extern "C" __attribute__((visibility("default")))
const tessera::runtime::CudaPlugin *
tessera_torch_cuda_plugin(int version);
