// trainer/parallel/DataParallel.h - communication between a run's processes.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "trainer/parallel/World.h"

#include <ATen/core/Tensor.h>
#include <c10/core/Device.h>
#include <memory>
#include <string>
#include <vector>

namespace tessera::trainer {

/// Every process calls the same functions in the same order; each waits for all
/// others. A run of one process waits for no process and changes nothing. All
/// throw tessera::Error when another process has ended or does not answer.
///
/// Tensors on the CPU go by Gloo. Those on GPUs go by NCCL, where waiting is
/// put on the GPU's current stream and not on the host, or, with
/// runtime.ddp_backend=gloo, through the host's memory.
class DataParallel {
public:
  /// Meets the others. `wire`: what averages are rounded to on their way.
  /// Throws tessera::Error if a GPU lacks NCCL.
  explicit DataParallel(const World &world, Precision wire = Precision::Fp32,
                        c10::Device device = c10::kCPU,
                        ExchangeBackend backend = ExchangeBackend::Auto);
  ~DataParallel();
  DataParallel(const DataParallel &) = delete;
  DataParallel &operator=(const DataParallel &) = delete;

  int64_t rank() const { return world.rank; }
  int64_t size() const { return world.size; }
  bool first() const { return world.first(); }

  /// Starts to replace a contiguous fp32 tensor [n] by its mean over the
  /// processes, the same bits in each of them, and returns. `values` must not
  /// be touched until finishAverages(). May be called from autograd's threads,
  /// one at a time.
  void beginAverage(const at::Tensor &values);
  /// Waits for all averages that beginAverage() has started.
  void finishAverages();
  /// `whole` [size * n], of which each process has its own n elements in place
  /// (those from rank * n): gets those of all.
  void allGather(const at::Tensor &whole);
  /// The parts [n] of all processes in the first one's `whole` [size * n]; the
  /// others' is not looked at.
  void gather(const at::Tensor &part, const at::Tensor &whole);
  /// Does the reverse of gather().
  void scatter(const at::Tensor &whole, const at::Tensor &part);
  /// Returns the elementwise sums over the processes.
  std::vector<double> sum(const std::vector<double> &values);
  /// Waits until all processes have called wait() (a barrier).
  void wait() { sum({0}); }
  /// Broadcasts the first process's value.
  std::string fromFirst(const std::string &text);
  void fromFirst(at::Tensor &values);

private:
  /// Calls `move` with a backend and places of `whole`, one of each process,
  /// piece by piece: Gloo copies what it moves.
  template <typename F>
  void inPieces(const at::Tensor &whole, const at::Tensor &part, const F &move);
  struct Group;
  World world;
  Precision wire;
  std::unique_ptr<Group> group; ///< None for one process.
};

} // namespace tessera::trainer
