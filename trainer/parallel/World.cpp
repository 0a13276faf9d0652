// trainer/parallel/World.cpp - reads rank and rendezvous from the environment
// variables of torchrun, mpirun, Slurm and `tessera train --nproc`.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "trainer/parallel/World.h"

#include "support/Error.h"

#include <charconv>
#include <cstdlib>
#include <fmt/format.h>
#include <unistd.h>

namespace tessera::trainer {
namespace {

constexpr const char *howToStart =
    "start several processes with tessera train --nproc N, torchrun or mpirun";

class Variables {
public:
  explicit Variables(const Environment &all) : all(all) {}

  bool has(const char *name) const { return !text(name).empty(); }
  std::string text(const char *name) const {
    const auto found = all.find(name);
    return found == all.end() ? std::string() : found->second;
  }
  int64_t number(const char *name, int64_t low, int64_t high) const {
    const std::string value = text(name);
    int64_t result = 0;
    const char *end = value.data() + value.size();
    const auto [stop, code] = std::from_chars(value.data(), end, result);
    if (code != std::errc() || stop != end || result < low || result > high)
      throw Error(
          fmt::format("environment: {}='{}' is not a number from {} to {}",
                      name, value, low, high),
          howToStart);
    return result;
  }

private:
  const Environment &all;
};

constexpr int64_t mostProcesses = 1 << 16;

/// Reads rank and size from two variables. Returns false if `size` is not set.
bool readRank(const Variables &v, const char *rank, const char *size,
              World &world) {
  if (!v.has(size))
    return false;
  world.size = v.number(size, 1, mostProcesses);
  if (world.size == 1)
    return true;
  if (!v.has(rank))
    throw Error(fmt::format("environment: {}={}, but {} is not set", size,
                            world.size, rank),
                howToStart);
  world.rank = v.number(rank, 0, world.size - 1);
  return true;
}

/// Returns the rank among the processes of this machine. Without a variable, it
/// is the rank if all processes are on one machine, else 0.
int64_t localRankOf(const Variables &v, const World &world) {
  for (const char *name :
       {"LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_RANK", "SLURM_LOCALID"})
    if (v.has(name))
      return v.number(name, 0, mostProcesses);
  return world.local() ? world.rank : 0;
}

} // namespace

bool World::local() const {
  return !file.empty() || host == "localhost" || host == "127.0.0.1" ||
         host == "::1";
}

World worldOf(const Environment &environment) {
  const Variables v(environment);
  World world;
  if (!readRank(v, "RANK", "WORLD_SIZE", world) &&
      !readRank(v, "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", world) &&
      v.has("MASTER_ADDR"))
    readRank(v, "SLURM_PROCID", "SLURM_NTASKS", world);
  if (world.size == 1)
    return world;
  world.file = v.text("TESSERA_RENDEZVOUS");
  if (!world.file.empty()) {
    world.localRank = world.rank;
    return world;
  }
  if (!v.has("MASTER_ADDR"))
    throw Error(fmt::format("environment: there are {} processes, but "
                            "MASTER_ADDR is not set: they cannot meet",
                            world.size),
                "MASTER_ADDR=127.0.0.1 MASTER_PORT=29500 on one machine, or "
                "the address of process 0; tessera train --nproc N needs "
                "neither");
  world.host = v.text("MASTER_ADDR");
  world.port = v.has("MASTER_PORT")
                   ? uint16_t(v.number("MASTER_PORT", 1, 65535))
                   : 29500;
  world.storeIsThere = v.text("TORCHELASTIC_USE_AGENT_STORE") == "True";
  world.attempt = v.text("TORCHELASTIC_RESTART_COUNT");
  world.localRank = localRankOf(v, world);
  return world;
}

World processWorld() {
  Environment environment;
  for (const char *name :
       {"RANK", "WORLD_SIZE", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE",
        "SLURM_PROCID", "SLURM_NTASKS", "LOCAL_RANK",
        "OMPI_COMM_WORLD_LOCAL_RANK", "SLURM_LOCALID", "MASTER_ADDR",
        "MASTER_PORT", "TESSERA_RENDEZVOUS", "TORCHELASTIC_USE_AGENT_STORE",
        "TORCHELASTIC_RESTART_COUNT"})
    if (const char *value = std::getenv(name))
      environment[name] = value;
  // The launcher sets this variable for this process alone. A program that this
  // process starts would warn of an unknown variable TESSERA_RENDEZVOUS.
  ::unsetenv("TESSERA_RENDEZVOUS");
  World world = worldOf(environment);
  char name[256] = {};
  if (::gethostname(name, sizeof name - 1) == 0)
    world.node = name;
  return world;
}

} // namespace tessera::trainer
