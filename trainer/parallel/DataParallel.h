// trainer/parallel/DataParallel.h - collective operations between the processes
// of a run; gradients, optimizer state and checkpoints use them.
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

/// Every process must call the same functions in the same order. With one
/// process, all functions return at once and change nothing. All throw
/// tessera::Error if another process has ended or does not answer.
///
/// Gloo transfers tensors on the CPU. NCCL transfers tensors on GPUs; there the
/// current stream waits, not the host. With runtime.ddp_backend=gloo, tensors
/// on GPUs are copied to host memory and transferred by Gloo.
class DataParallel {
public:
  /// Connects to the other processes and waits for them. beginAverage() rounds
  /// to `wire` before it sends. Throws tessera::Error if `backend` cannot
  /// transfer the tensors of `device`, or if NCCL is missing.
  explicit DataParallel(const World &world, Precision wire = Precision::Fp32,
                        c10::Device device = c10::kCPU,
                        ExchangeBackend backend = ExchangeBackend::Auto);
  ~DataParallel();
  DataParallel(const DataParallel &) = delete;
  DataParallel &operator=(const DataParallel &) = delete;

  int64_t rank() const { return world.rank; }
  int64_t size() const { return world.size; }
  bool first() const { return world.first(); }
  /// Returns the host name of this process's machine.
  const std::string &node() const { return world.node; }

  /// Starts an asynchronous all-reduce that replaces a contiguous fp32 tensor
  /// [n] by its mean over the processes; the result is bitwise the same in all
  /// of them. The caller must not access `values` before finishAverages().
  /// Autograd's threads may call this, one at a time.
  void beginAverage(const at::Tensor &values);
  /// Waits for all averages that beginAverage() has started.
  void finishAverages();
  /// Gathers in place. In `whole` [size * n], each process has written its n
  /// elements at rank * n; afterwards it holds the elements of all processes.
  void allGather(const at::Tensor &whole);
  /// Copies `part` [n] of every process to `whole` [size * n] of process 0, in
  /// the order of ranks. Other processes may pass an undefined `whole`.
  void gather(const at::Tensor &part, const at::Tensor &whole);
  /// Copies each process's n elements of process 0's `whole` to its `part`.
  void scatter(const at::Tensor &whole, const at::Tensor &part);
  /// Returns the elementwise sums over the processes, in fp64.
  std::vector<double> sum(const std::vector<double> &values);
  /// Waits until all processes have called wait(): a barrier.
  void wait() { sum({0}); }
  /// Broadcasts the value of process 0. Tensors are overwritten; all processes
  /// must pass the same shape and type.
  std::string fromFirst(const std::string &text);
  void fromFirst(at::Tensor &values);
  /// Returns the texts of all processes, in the order of ranks.
  std::vector<std::string> fromAll(const std::string &text);

private:
  /// Calls move(backend, slices of `whole`, slice of `part`) for one chunk of
  /// elements after another. Chunks bound the memory of Gloo's temporary
  /// copies.
  template <typename F>
  void inPieces(const at::Tensor &whole, const at::Tensor &part, const F &move);
  struct Group;
  World world;
  Precision wire;
  std::unique_ptr<Group> group; ///< Null in a run of one process.
};

} // namespace tessera::trainer
