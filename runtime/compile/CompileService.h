// runtime/compile/CompileService.h - artifacts from memory, disk or a worker.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "language/Request.h"
#include "runtime/cache/Cache.h"
#include "runtime/compile/WorkerPool.h"

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <future>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace tessera::runtime {

class Pack;
struct PackEntry;

struct CompiledKernel {
  std::string code;
  language::ArtifactMeta meta;
  std::vector<language::DiagnosticRecord> remarks;
  std::map<std::string, std::string> stages;
};

struct CompileCounters {
  // Loaded: from the disk or the pack.
  std::atomic<uint64_t> compiled{0}, loaded{0};
  // From the pack; asked for while there was one that has it not.
  std::atomic<uint64_t> packed{0}, packMisses{0};
};

// Thread-safe. One thread (and, through the cache's lock, one process) compiles
// a kernel; others that want the same wait for it.
class CompileService {
public:
  struct Settings {
    std::filesystem::path cacheFolder;
    uint64_t cacheLimit = 0; // bytes; 0: any number
    size_t workers = 1;
    std::chrono::milliseconds timeout{300000};
    // For a worker to load its libraries and answer.
    std::chrono::milliseconds greetingTimeout{20000};
    // After which a compilation is spoken of (support/Progress.h).
    std::chrono::milliseconds patience{2000};
    std::filesystem::path dumpFolder;     // empty: none
    std::filesystem::path overrideFolder; // empty: none
    std::string buildId;
    // Asked before anything else; null: none. Lives as long as the service.
    const Pack *pack = nullptr;
  };
  explicit CompileService(Settings settings);

  // With the settings of the environment; made at the first use.
  static CompileService &instance();
  static Settings environmentSettings();

  // Throws CompileError for a kernel that does not compile and Error when the
  // worker is missing, dies or runs out of time. A request that failed is not
  // tried again, unless there was no worker (WorkerUnavailable). For a GPU the
  // code is the cubin that the ptxas of findPtxas() made; where
  // request.assembler is "none", or there is no ptxas, a cubin of any version
  // that is in the cache serves, else the code is empty. The service itself
  // keeps only what the disk does not: of the rest the callers have the one
  // copy.
  std::shared_ptr<const CompiledKernel>
  get(const language::CompileRequest &request);

  // All of them, in parallel, with a line of progress; in the order
  // of the requests. Waiting workers are ended afterwards. Throws the first
  // error after the others, or without them when there is no worker.
  std::vector<std::shared_ptr<const CompiledKernel>>
  getAll(const std::vector<language::CompileRequest> &requests);

  const CompileCounters &counters() const { return counts; }
  Cache &cache() { return disk; }
  WorkerPool &workers() { return pool; }

private:
  using Result = std::shared_ptr<const CompiledKernel>;

  // What is known of a request.
  struct Entry {
    // Valid while a thread makes it, and for good when that failed.
    std::shared_future<Result> making;
    std::weak_ptr<const CompiledKernel> made;
    Result kept; // what the disk does not hold
    bool dumped = false;
  };

  // `fresh`: not from the disk. `onDisk`: whether it is there afterwards.
  Result make(const language::CompileRequest &request, const Sha256Digest &key,
              bool fresh, bool &onDisk);
  // Null: there is none, or it lacks the request.
  const PackEntry *findInPack(const language::CompileRequest &request);
  Result loadFromPack(const language::CompileRequest &request,
                      const PackEntry &entry);
  Result loadFromDisk(const language::CompileRequest &request,
                      const Sha256Digest &key);
  Result compile(const language::CompileRequest &request,
                 const Sha256Digest &key, bool &onDisk);
  // Keeps the request for whoever looks for the fault. Empty: it could not be
  // written.
  std::filesystem::path keepReproducer(const language::CompileRequest &request,
                                       const Sha256Digest &key) const;
  [[noreturn]] void reportWorkerFailure(const language::CompileRequest &request,
                                        const Sha256Digest &key,
                                        const std::string &failure);
  void addOverrides(language::CompileRequest &request) const;
  // Decides which ptxas the worker uses. Gives its version, empty without one.
  std::string chooseAssembler(language::CompileRequest &request) const;

  const Settings settings;
  Cache disk;
  WorkerPool pool;
  CompileCounters counts;
  std::mutex mutex;
  std::map<std::string, Entry> entries;
};

// "BM=64 D=128": the constexprs of a request, for messages.
std::string describeConfiguration(const language::CompileRequest &request);

} // namespace tessera::runtime
