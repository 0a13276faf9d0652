// tests/simcuda/SimCuda.h - components of a driver whose GPUs are simulators.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
//
// Work waits in its stream until someone waits for it, as on a busy GPU: what
// reads a result without waiting reads what was there before.
//
// Environment: SIM_CUDA: "none" (no device), "broken" (cuInit fails), "old"
// (cannot read the PTX), "noisy" (launches after the first write other bytes),
// "crash" (the second launch ends the process), "idle" (launches and copies do
// nothing, what comes to the host is zero: for the time of the host).
// SIM_CUDA_DEVICES: how many GPUs, 1 without it. SIM_CUDA_US: microseconds
// between any two events, 250 without it; "250,add=100,scan=7": what launches
// take, by the kernel's name; "counted": by their instructions. SIM_CUDA_FAIL:
// "cuMemAlloc=2" makes a function return an error, a kernel's name instead
// makes that kernel fail, or with -1 run for ever; "@3" after it: the third
// time only. SIM_CUDA_COUNTS:
// a file that receives, at the end of the process, how often each function was
// called and each kernel run.
#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#define EXPORT extern "C" __attribute__((visibility("default")))

namespace simcuda {

// CUresult (CUDA Driver API reference, "Data types").
enum Result : int {
  endless = -1, // of a kernel: a launch that does not end
  invalidValue = 1,
  outOfMemory = 2,
  notInitialized = 3,
  noDevice = 100,
  invalidDevice = 101,
  invalidContext = 201,
  noBinaryForGpu = 209,
  unsupportedPtx = 222,
  invalidHandle = 400,
  notFound = 500,
  notReady = 600,
  illegalAddress = 700,
  captureUnsupported = 900,
  captureInvalidated = 901,
  captureUnmatched = 903,
  unknown = 999
};

using Address = unsigned long long;
inline char *addressOf(Address address) {
  return reinterpret_cast<char *>(address);
}

// What a stream does next; returns a CUresult. A graph runs it again and again.
using Work = std::function<int()>;

struct Graph {
  std::vector<Work> work;
};

struct Gpu;
struct Stream {
  Gpu *gpu = nullptr;
  bool blocking = true; // orders itself with the default stream
  std::deque<Work> waiting;
  Graph *capture = nullptr;
  bool invalidated = false; // its capture
};

// Its address is the context, and its first member the default stream's.
struct Gpu {
  int ordinal = 0;
  Stream defaultStream;
  std::vector<Stream *> streams; // made by cuStreamCreate
  std::map<char *, size_t> allocations;
  int fault = 0;     // sticky
  double passed = 0; // microseconds of its launches

  // The stream of a handle; null is the default stream.
  Stream &of(void *stream) {
    return stream ? *static_cast<Stream *>(stream) : defaultStream;
  }
};

// The GPUs of the process, made at the first use.
std::vector<Gpu *> &gpus();
// That of the calling thread's context; null without one.
Gpu *&current();
bool is(const char *mode); // SIM_CUDA

// Whether any stream is being captured.
bool capturing();
// Appends work to the stream, or to a capture that is in progress.
int submit(Stream &stream, Work work);
// Runs what waits, until nothing does. Returns the context's fault.
int drain(Stream &stream);
int drainAll(Gpu &gpu);

// Opens every function: one thread at a time, counted, with the error that
// SIM_CUDA_FAIL wants. `safe`: allowed while a stream is captured.
class Call {
public:
  explicit Call(const char *name, bool safe = true);
  int result = 0;

private:
  std::lock_guard<std::recursive_mutex> guard;
};
// Microseconds of a kernel's launch; for "", the SIM_CUDA_US of all kernels.
double microsecondsOf(const std::string &kernel);
bool timesByKernel();
bool timesAreCounted(); // by the instructions of each launch
void count(const std::string &name);
// The result that is wanted for a function or kernel now; 0: none.
int injected(const std::string &name);

} // namespace simcuda
