// bench/train/Loader.cpp - tokens a CPU second that the loader gives a run.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
//
//   loader_bench BATCHES ROUNDS > rows.json
//
// bench/loader.py starts it.
#include "support/Error.h"
#include "support/File.h"
#include "trainer/data/Prepare.h"
#include "trainer/data/TokenSource.h"
#include "trainer/settings/Config.h"

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <filesystem>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

using namespace tessera;
using namespace tessera::trainer;

namespace {

constexpr int64_t fileBytes = 64 << 20;

double cpuSeconds() {
  timespec t = {};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return double(t.tv_sec) + 1e-9 * double(t.tv_nsec);
}

/// Documents of 500 to 4,500 bytes of letters and spaces, one a line.
std::string documents() {
  std::string all;
  all.reserve(size_t(fileBytes) + 8192);
  uint32_t state = 1;
  const auto draw = [&] {
    state = state * 1664525 + 1013904223;
    return state >> 8;
  };
  while (int64_t(all.size()) < fileBytes) {
    all += "{\"text\": \"";
    for (uint32_t left = 500 + draw() % 4000; left > 0; --left)
      all += draw() % 6 ? char('a' + draw() % 26) : ' ';
    all += "\"}\n";
  }
  return all;
}

/// Tokens a CPU second of all threads, of the fastest round.
double speed(const Corpus &corpus, const Config &config, int batches,
             int rounds) {
  double best = 0;
  for (int round = 0; round < rounds; ++round) {
    TokenSource source(corpus, config, 0);
    source.next();
    const double start = cpuSeconds();
    for (int i = 0; i < batches; ++i)
      source.next();
    const double tokens =
        batches * double(config.deviceBatchSize * config.sequenceLength);
    best = std::max(best, tokens / (cpuSeconds() - start));
  }
  return best;
}

nlohmann::json measure(int batches, int rounds) {
  const auto folder = std::filesystem::temp_directory_path() /
                      fmt::format("loader_bench.{}", getpid());
  std::filesystem::create_directories(folder);
  writeFile(folder / "text.jsonl", documents());
  std::filesystem::copy_file(folder / "text.jsonl", folder / "text");
  PrepareOptions prepare;
  prepare.input = (folder / "text.jsonl").string();
  prepare.out = (folder / "shards").string();
  prepareData(prepare);
  nlohmann::json rows;
  for (const auto &[name, path, packing] :
       {std::tuple{"bytes", "text", "joined"},
        std::tuple{"shards", "shards", "joined"},
        std::tuple{"shards, best_fit", "shards", "best_fit"}})
    for (const char *order : {"random", "sequential", "shuffled"}) {
      const Config config = parseConfig(
          "", "bench",
          {"data.path=" + (folder / path).string(), "train.seq_len=2048",
           "train.batch_size=8", std::string("data.order=") + order,
           std::string("data.packing=") + packing});
      const double tokens = speed(loadCorpus(config), config, batches, rounds);
      rows.push_back({{"data", name},
                      {"order", order},
                      {"million_tokens_per_cpu_s", tokens / 1e6}});
    }
  std::filesystem::remove_all(folder);
  return rows;
}

} // namespace

int main(int argc, char **argv) {
  try {
    if (argc != 3)
      throw Error("loader_bench takes BATCHES ROUNDS",
                  "scripts/bench loader starts it");
    fmt::print("{}\n", measure(std::stoi(argv[1]), std::stoi(argv[2])).dump());
    return 0;
  } catch (const std::exception &e) {
    fmt::print(stderr, "error: {}\n", e.what());
    return 1;
  }
}
