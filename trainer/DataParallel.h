// trainer/DataParallel.h - what the processes of a run tell each other.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "trainer/World.h"

#include <ATen/core/Tensor.h>
#include <memory>
#include <string>
#include <vector>

namespace tessera::trainer {

/// Every process calls the same functions in the same order; each waits for all
/// others. A run of one process waits for nobody and changes nothing. All throw
/// tessera::Error when another process has ended or does not answer.
class DataParallel {
public:
  /// Meets the others. `bucketBytes`: how much of a tensor is under way at once
  /// in one piece.
  DataParallel(const World &world, int64_t bucketBytes);
  ~DataParallel();
  DataParallel(const DataParallel &) = delete;
  DataParallel &operator=(const DataParallel &) = delete;

  int64_t rank() const { return world.rank; }
  int64_t size() const { return world.size; }
  bool first() const { return world.first(); }

  /// The mean over the processes of a contiguous floating tensor [n], in place;
  /// the same bits in each of them.
  void average(at::Tensor &values);
  /// Sums over the processes.
  std::vector<double> sum(const std::vector<double> &values);
  /// Waits until all are here.
  void wait() { sum({0}); }
  /// What the first process has.
  std::string fromFirst(const std::string &text);
  void fromFirst(at::Tensor &values);

private:
  struct Group;
  World world;
  int64_t bucketBytes;
  std::unique_ptr<Group> group; ///< None for one process.
};

} // namespace tessera::trainer
