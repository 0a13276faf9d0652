// trainer/parallel/World.h - rank, size and rendezvous of a run's processes,
// read from the environment variables of launchers.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "trainer/settings/Config.h"

#include <cstdint>
#include <string>

namespace tessera::trainer {

/// The rank of one process of a run, and the store (of c10d) through which the
/// processes find each other.
struct World {
  int64_t rank = 0, size = 1;
  int64_t localRank = 0; ///< Rank among the processes of this machine.
  /// Path of a FileStore that all processes can open (`--nproc` sets it). If
  /// empty, a TCPStore at host:port is used.
  std::string file;
  std::string host;
  uint16_t port = 0;
  std::string node = "?"; ///< Host name of this machine.
  /// Seconds until processes that cannot reach each other end
  /// (runtime.network_timeout).
  double timeout = 300;
  bool storeIsThere = false; ///< True if torchrun serves it, not process 0.
  /// torchrun's restart count. It is a prefix of the keys, because a store that
  /// outlives a restart still has the keys of the previous attempt.
  std::string attempt;

  bool first() const { return rank == 0; }
  /// True if `file` or `host` shows that all processes are on this machine.
  bool local() const;
};

/// Reads the variables of torchrun (RANK, WORLD_SIZE, MASTER_ADDR, MASTER_PORT)
/// or of mpirun (OMPI_COMM_WORLD_RANK, _SIZE). Reads those of Slurm
/// (SLURM_PROCID, SLURM_NTASKS) only if MASTER_ADDR is set, because Slurm sets
/// them for jobs of independent processes, too. The local rank is LOCAL_RANK,
/// OMPI_COMM_WORLD_LOCAL_RANK or SLURM_LOCALID. Throws tessera::Error if a
/// variable is missing or not a number in range.
World worldOf(const Environment &environment);

/// Returns worldOf() the environment of this process. Call it once, before
/// threads start: it removes TESSERA_RENDEZVOUS from the environment.
World processWorld();

} // namespace tessera::trainer
