// trainer/parallel/World.h - rank, size and rendezvous of a run's processes,
// from the launcher's variables.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "trainer/settings/Config.h"

#include <cstdint>
#include <string>

namespace tessera::trainer {

/// One process of a run, and where it meets the others.
struct World {
  int64_t rank = 0, size = 1;
  int64_t localRank = 0; ///< Among the processes of this machine.
  /// A file that all of them see (`--nproc` makes one); else a store at
  /// host:port, which process 0 serves unless it is there already.
  std::string file;
  std::string host;
  uint16_t port = 0;
  bool storeIsThere = false;
  /// Of stores that outlive a restart: the names of another attempt.
  std::string attempt;

  bool first() const { return rank == 0; }
  /// Whether all processes are on this machine, as far as is known.
  bool local() const;
};

/// From the variables of torchrun (RANK, WORLD_SIZE, MASTER_ADDR, MASTER_PORT),
/// of mpirun (OMPI_COMM_WORLD_RANK, _SIZE) or, where MASTER_ADDR says that
/// processes are to meet, of Slurm (SLURM_PROCID, SLURM_NTASKS); the number
/// among the machine's from LOCAL_RANK and its like. Throws
/// tessera::Error for variables that contradict each other.
World worldOf(const Environment &environment);

/// The same of this process. Call it once, before threads start: it removes
/// TESSERA_RENDEZVOUS from the environment.
World processWorld();

} // namespace tessera::trainer
