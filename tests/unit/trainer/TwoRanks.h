// tests/unit/trainer/TwoRanks.h - two processes of a run as threads of one.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tests/unit/trainer/TestFolder.h"
#include "trainer/parallel/DataParallel.h"

#include <cstdlib>
#include <exception>
#include <functional>
#include <string>
#include <thread>
#include <vector>

/// Runs `work` as process 0 and 1; what one of them throws is what it returned.
/// torch's flight recorder is off: all process groups of a process share it,
/// and torch 2.11 adds a group to its map before it takes the lock.
inline std::vector<std::string> onTwoRanks(
    const std::function<void(tessera::trainer::DataParallel &)> &work,
    tessera::trainer::Precision wire = tessera::trainer::Precision::Fp32) {
  ::setenv("TORCH_FR_BUFFER_SIZE", "0", 1);
  const TestFolder folder;
  std::vector<std::string> errors(2);
  std::vector<std::thread> threads;
  for (int rank = 0; rank < 2; ++rank)
    threads.emplace_back([&, rank] {
      try {
        tessera::trainer::World world;
        world.rank = rank;
        world.size = 2;
        world.file = folder.file("store");
        tessera::trainer::DataParallel parallel(world, wire);
        work(parallel);
        parallel.wait();
      } catch (const std::exception &e) {
        errors[size_t(rank)] = e.what();
      }
    });
  for (std::thread &thread : threads)
    thread.join();
  return errors;
}
