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
  // `packed` counts requests that the pack served, `packMisses` requests that a
  // loaded pack lacks.
  std::atomic<uint64_t> packed{0}, packMisses{0};
};

// Returns compiled kernels from memory, a pack, the disk or a worker.
// Thread-safe. One thread compiles a kernel (the cache's lock extends this to
// processes); other threads with the same request wait for it.
class CompileService {
public:
  struct Settings {
    std::filesystem::path cacheFolder;
    uint64_t cacheLimit = 0; // bytes; 0: any number
    size_t workers = 1;
    std::chrono::milliseconds timeout{300000};
    // Time for a worker to load its libraries and send its greeting.
    std::chrono::milliseconds greetingTimeout{20000};
    // Time after which a compilation is reported as progress
    // (support/Progress.h).
    std::chrono::milliseconds patience{2000};
    std::filesystem::path dumpFolder;     // empty: none
    std::filesystem::path overrideFolder; // empty: none
    std::string buildId;
    // Searched first; null: no pack. It must outlive the service.
    const Pack *pack = nullptr;
  };
  explicit CompileService(Settings settings);

  // Returns the service with the settings of the environment, created on first
  // use.
  static CompileService &instance();
  static Settings environmentSettings();

  // Returns the compiled kernel of a request. Throws CompileError for a kernel
  // that does not compile, and Error if the worker is missing, dies or runs out
  // of time. A failed request is not retried, except after WorkerUnavailable.
  // For a GPU, the code is the cubin of the ptxas that findPtxas() found. If
  // request.assembler is "none" or ptxas is missing, any cached cubin serves,
  // else the code is empty. The service itself keeps only kernels that are not
  // on disk; callers own the rest.
  std::shared_ptr<const CompiledKernel>
  get(const language::CompileRequest &request);

  // Returns the kernels of all requests in their order, compiled in parallel
  // with a line of progress. Ends idle workers afterwards. Throws the first
  // error after all requests finished, or at once if no worker is available.
  std::vector<std::shared_ptr<const CompiledKernel>>
  getAll(const std::vector<language::CompileRequest> &requests);

  const CompileCounters &counters() const { return counts; }
  Cache &cache() { return disk; }
  WorkerPool &workers() { return pool; }

private:
  using Result = std::shared_ptr<const CompiledKernel>;

  // State of a request.
  struct Entry {
    // Valid while a thread compiles the request, and forever if that failed.
    std::shared_future<Result> making;
    std::weak_ptr<const CompiledKernel> made;
    Result kept; // what the disk does not hold
    bool dumped = false;
  };

  // `fresh`: skips the disk. Sets `onDisk` to whether the disk holds the
  // result.
  Result make(const language::CompileRequest &request, const Sha256Digest &key,
              bool fresh, bool &onDisk);
  // Returns null if the service has no pack or the pack lacks the request.
  const PackEntry *findInPack(const language::CompileRequest &request);
  Result loadFromPack(const language::CompileRequest &request,
                      const PackEntry &entry);
  Result loadFromDisk(const language::CompileRequest &request,
                      const Sha256Digest &key);
  Result compile(const language::CompileRequest &request,
                 const Sha256Digest &key, bool &onDisk);
  // Writes the failed request to a file, to reproduce the failure. Returns an
  // empty path if the file cannot be written.
  std::filesystem::path keepReproducer(const language::CompileRequest &request,
                                       const Sha256Digest &key) const;
  [[noreturn]] void reportWorkerFailure(const language::CompileRequest &request,
                                        const Sha256Digest &key,
                                        const std::string &failure);
  void addOverrides(language::CompileRequest &request) const;
  // Chooses the ptxas that the worker uses. Returns its version, or an empty
  // string without ptxas.
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
