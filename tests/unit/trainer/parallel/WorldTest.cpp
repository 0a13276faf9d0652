// tests/unit/trainer/parallel/WorldTest.cpp - who starts processes, and how
// they meet.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "trainer/parallel/World.h"

#include "support/Error.h"

#include <gtest/gtest.h>

using namespace tessera;
using namespace tessera::trainer;

namespace {

std::string refusal(const Environment &environment) {
  try {
    worldOf(environment);
  } catch (const Error &e) {
    EXPECT_FALSE(e.hint.empty()) << e.message;
    return e.message;
  }
  return "accepted";
}

TEST(World, OneProcessNeedsNothing) {
  EXPECT_EQ(worldOf({}).size, 1);
  EXPECT_EQ(worldOf({{"WORLD_SIZE", "1"}, {"RANK", "0"}}).size, 1);
  // A Slurm job that starts one process of its own.
  EXPECT_EQ(worldOf({{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "8"}}).size, 1);
}

TEST(World, TorchrunsVariables) {
  Environment e = {{"RANK", "3"},
                   {"WORLD_SIZE", "4"},
                   {"MASTER_ADDR", "10.0.0.7"},
                   {"MASTER_PORT", "1234"}};
  World w = worldOf(e);
  EXPECT_EQ(w.rank, 3);
  EXPECT_EQ(w.size, 4);
  EXPECT_EQ(w.host, "10.0.0.7");
  EXPECT_EQ(w.port, 1234);
  EXPECT_FALSE(w.local());
  EXPECT_FALSE(w.first());
  EXPECT_FALSE(w.storeIsThere);
  e["TORCHELASTIC_USE_AGENT_STORE"] = "True";
  e["TORCHELASTIC_RESTART_COUNT"] = "2";
  e["MASTER_ADDR"] = "localhost";
  w = worldOf(e);
  EXPECT_TRUE(w.storeIsThere);
  EXPECT_TRUE(w.local());
  EXPECT_EQ(w.attempt, "2");
}

TEST(World, MpirunAndSlurm) {
  const World mpi = worldOf({{"OMPI_COMM_WORLD_RANK", "1"},
                             {"OMPI_COMM_WORLD_SIZE", "2"},
                             {"MASTER_ADDR", "node1"}});
  EXPECT_EQ(mpi.rank, 1);
  EXPECT_EQ(mpi.port, 29500);
  const World slurm = worldOf(
      {{"SLURM_PROCID", "5"}, {"SLURM_NTASKS", "8"}, {"MASTER_ADDR", "node1"}});
  EXPECT_EQ(slurm.rank, 5);
  EXPECT_EQ(slurm.size, 8);
}

// Which GPU of its machine a process takes.
TEST(World, TheNumberOnTheMachine) {
  const Environment node = {
      {"RANK", "5"}, {"WORLD_SIZE", "8"}, {"MASTER_ADDR", "10.0.0.7"}};
  const auto with = [&](const char *name, const char *value) {
    Environment e = node;
    e[name] = value;
    return worldOf(e).localRank;
  };
  EXPECT_EQ(with("LOCAL_RANK", "1"), 1);
  EXPECT_EQ(with("OMPI_COMM_WORLD_LOCAL_RANK", "2"), 2);
  EXPECT_EQ(with("SLURM_LOCALID", "3"), 3);
  EXPECT_EQ(with("MASTER_ADDR", "127.0.0.1"), 5);
  EXPECT_EQ(with("TESSERA_RENDEZVOUS", "/tmp/store"), 5);
  EXPECT_EQ(worldOf({}).localRank, 0);
  Environment wrong = node;
  wrong["LOCAL_RANK"] = "one";
  EXPECT_NE(refusal(wrong).find("LOCAL_RANK='one'"), std::string::npos);
}

TEST(World, ContradictionsAreRefused) {
  const Environment address = {{"MASTER_ADDR", "127.0.0.1"}};
  const auto with = [&](Environment more) {
    more.insert(address.begin(), address.end());
    return refusal(more);
  };
  EXPECT_NE(with({{"WORLD_SIZE", "2"}}).find("RANK is not set"),
            std::string::npos);
  EXPECT_NE(with({{"WORLD_SIZE", "2"}, {"RANK", "2"}}).find("RANK='2'"),
            std::string::npos);
  EXPECT_NE(with({{"WORLD_SIZE", "two"}}).find("WORLD_SIZE='two'"),
            std::string::npos);
  EXPECT_NE(refusal({{"WORLD_SIZE", "2"}, {"RANK", "1"}}).find("MASTER_ADDR"),
            std::string::npos);
  EXPECT_NE(with({{"WORLD_SIZE", "2"}, {"RANK", "1"}, {"MASTER_PORT", "99999"}})
                .find("MASTER_PORT"),
            std::string::npos);
}

} // namespace
