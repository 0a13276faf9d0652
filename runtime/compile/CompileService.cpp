// runtime/compile/CompileService.cpp - artifacts from memory, disk or a worker.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "runtime/compile/CompileService.h"

#include "language/CudaSource.h"
#include "language/Remarks.h"
#include "runtime/cache/Keys.h"
#include "runtime/compile/CompiledFile.h"
#include "runtime/compile/Stages.h"
#include "runtime/pack/Pack.h"
#include "runtime/pack/PackStats.h"
#include "support/BuildId.h"
#include "support/CudaTools.h"
#include "support/Error.h"
#include "support/GpuTarget.h"
#include "support/Log.h"
#include "support/Options.h"
#include "support/Progress.h"
#include "support/ScratchFolder.h"
#include "support/Trust.h"

#include <algorithm>
#include <chrono>
#include <exception>
#include <thread>

namespace tessera::runtime {

namespace fs = std::filesystem;
using language::CompileRequest;
using language::CompileResult;

namespace {
// Remembers versions; see findPtxas().
constexpr const char *ptxasFile = "ptxas.json";
} // namespace

std::string describeConfiguration(const CompileRequest &request) {
  std::string text;
  for (const language::Argument &argument : request.args)
    if (argument.isConstexpr())
      text += (text.empty() ? "" : " ") + argument.name + "=" +
              argument.value.repr();
  return text;
}

CompileService::Settings CompileService::environmentSettings() {
  Settings settings;
  settings.cacheFolder = defaultCacheFolder();
  settings.cacheLimit = defaultCacheLimit();
  settings.workers = size_t(optionNumber(Option::Workers));
  if (!settings.workers)
    settings.workers = std::max(1u, std::thread::hardware_concurrency());
  const int64_t seconds = optionNumber(Option::CompileTimeout);
  if (seconds == 0)
    throw Error(std::string(optionInfo(Option::CompileTimeout).name) +
                    "=0 leaves a compilation no time",
                "set it to seconds, 1 or more, or unset it");
  settings.timeout = std::chrono::seconds(seconds);
  settings.dumpFolder = optionText(Option::Dump);
  settings.overrideFolder = optionText(Option::Override);
  settings.buildId = compilerBuildId();
  settings.pack = environmentPack();
  return settings;
}

CompileService::CompileService(Settings given)
    : settings(std::move(given)),
      disk(settings.cacheFolder, settings.cacheLimit),
      pool(settings.workers, settings.buildId, settings.greetingTimeout) {
  std::error_code ignored;
  if (!settings.dumpFolder.empty() && !settings.overrideFolder.empty() &&
      fs::equivalent(settings.dumpFolder, settings.overrideFolder, ignored))
    throw Error("TESSERA_DUMP and TESSERA_OVERRIDE are both " +
                    settings.dumpFolder.string(),
                "the dump would replace the edited stages; use two folders");
}

CompileService &CompileService::instance() {
  // Never destroyed: threads may still launch while the process ends, and the
  // workers end by themselves when their sockets close.
  static CompileService *const service = [] {
    warnUnknownOptions();
    return new CompileService(environmentSettings());
  }();
  return *service;
}

CompileService::Result
CompileService::loadFromDisk(const CompileRequest &request,
                             const Sha256Digest &key) {
  auto artifact = disk.load(key);
  Result kernel = artifact ? fromKept(std::move(*artifact), request) : nullptr;
  counts.loaded += kernel != nullptr;
  return kernel;
}

// Packs hold code only. A request for dumped or edited stages recompiles.
static bool isPackable(const CompileRequest &request) {
  return request.emit.empty() && request.overrides.empty();
}

const PackEntry *CompileService::findInPack(const CompileRequest &request) {
  return settings.pack && isPackable(request) ? settings.pack->find(request)
                                              : nullptr;
}

static void warnOfMiss(const Pack &pack, const CompileRequest &request) {
  warnOnce("pack " + pack.path(),
           pack.path() + " has no `" + request.kernel + "` with " +
               describeConfiguration(request) + ": " + pack.whyNot(request) +
               "; it is taken from the cache or compiled, as are others that "
               "the pack lacks; " +
               pack.remedy(request));
}

CompileService::Result
CompileService::loadFromPack(const CompileRequest &request,
                             const PackEntry &entry) {
  Result kernel = fromKept(settings.pack->read(entry), request);
  if (!kernel)
    throw Error(settings.pack->path() + ": the code of `" + request.kernel +
                    "` for " + request.target +
                    " was written by another tessera",
                "make the pack again: " + settings.pack->index().command);
  ++counts.loaded;
  ++counts.packed;
  return kernel;
}

fs::path CompileService::keepReproducer(const CompileRequest &request,
                                        const Sha256Digest &key) const {
  const std::string name =
      request.kernel + "-" + toHex(key).substr(0, 12) + ".json";
  // Another user may have created a folder of any fixed name in the folder of
  // temporary files.
  for (const bool inCache : {true, false}) {
    if (inCache && !disk.usable())
      continue;
    try {
      const fs::path folder = inCache ? disk.folder() / "reproducers"
                                      : makeTemporaryFolder("reproducer");
      makePrivateFolder(folder);
      requireTrusted(folder, "the folder of reproducers");
      writeFile(folder / name, request.toJson());
      return folder / name;
    } catch (const Error &) {
    }
  }
  return {};
}

void CompileService::reportWorkerFailure(const CompileRequest &request,
                                         const Sha256Digest &key,
                                         const std::string &failure) {
  const fs::path path = keepReproducer(request, key);
  const std::string configuration = describeConfiguration(request);
  throw Error("tessera-worker " + failure + " while compiling `" +
                  request.kernel + "` of " + request.file + " for " +
                  request.target +
                  (configuration.empty() ? "" : " with " + configuration) +
                  (path.empty() ? "" : "; reproducer: " + path.string()),
              "this is a defect of the compiler; use another configuration "
              "meanwhile, and report it with the reproducer" +
                  (path.empty()
                       ? std::string()
                       : " (tessera compile --request " + path.string() + ")") +
                  "; the kernel is not tried again in this run");
}

CompileService::Result CompileService::compile(const CompileRequest &request,
                                               const Sha256Digest &key,
                                               bool &onDisk) {
  Progress progress(settings.patience);
  WorkerOutcome outcome = pool.run(
      request.toJson(), settings.timeout, [&](const std::string &phase) {
        if (progress.due())
          progress.show("compiling `" + request.kernel + "` ... " +
                        std::to_string(int64_t(progress.seconds())) + " s" +
                        (phase.empty() ? "" : ", " + phase));
      });
  if (!outcome.failure.empty())
    reportWorkerFailure(request, key, outcome.failure);
  CompileResult result;
  try {
    result = CompileResult::fromJson(outcome.reply);
  } catch (const Error &error) {
    reportWorkerFailure(request, key,
                        "gave a reply that cannot be read (" + error.message +
                            ")");
  }
  if (!result.ok && result.defect)
    if (const fs::path path = keepReproducer(request, key); !path.empty())
      result.rendered +=
          "reproducer: tessera compile --request " + path.string() + "\n";
  if (!result.ok)
    throw CompileError(result.rendered);
  if (!result.rendered.empty())
    logWarning(result.rendered);
  ++counts.compiled;

  auto kernel = std::make_shared<CompiledKernel>();
  kernel->code = std::move(outcome.artifact);
  kernel->meta = result.meta;
  kernel->remarks = language::remarksOf(result);
  kernel->stages = result.stages;
  if (disk.usable())
    onDisk = disk.store(key, toKept(request, settings.buildId, *kernel));
  return kernel;
}

// Reads the edited stages that TESSERA_OVERRIDE has for the request, and logs
// them.
void CompileService::addOverrides(CompileRequest &request) const {
  request.overrides = readOverrides(settings.overrideFolder, request);
  for (const language::StageOverride &edited : request.overrides)
    warnOnce(edited.path, "kernel `" + request.kernel +
                              "` is compiled from the edited stage " +
                              edited.path + ", not from " + request.file);
}

std::string CompileService::chooseAssembler(CompileRequest &request) const {
  if (!GpuTarget::looksLike(request.target) ||
      language::isCudaSource(request.file) || request.assembler == "none")
    return "";
  if (!request.assembler.empty())
    return askPtxasVersion(request.assembler);
  std::string why;
  const auto ptxas = findPtxas(
      disk.usable() ? settings.cacheFolder / ptxasFile : fs::path(), &why);
  if (!ptxas) {
    warnOnce("ptxas", why + ": kernels for GPUs are PTX without machine code");
    request.assembler = "none";
    return "";
  }
  request.assembler = ptxas->path.string();
  return ptxas->version;
}

CompileService::Result CompileService::make(const CompileRequest &request,
                                            const Sha256Digest &key, bool fresh,
                                            bool &onDisk) {
  onDisk = true;
  if (!fresh) {
    if (Result found = loadFromDisk(request, key))
      return found;
    if (request.assembler == "none")
      for (const std::string &version :
           knownPtxasVersions(settings.cacheFolder / ptxasFile))
        if (Result found = loadFromDisk(
                request, artifactKey(request.key(), settings.buildId,
                                     request.overrideKey(), version)))
          return found;
  }
  FileLock lock = disk.lock(key);
  // Another process may have compiled it while this one waited for the lock.
  if (Result found = fresh ? nullptr : loadFromDisk(request, key))
    return found;
  onDisk = false;
  return compile(request, key, onDisk);
}

std::shared_ptr<const CompiledKernel>
CompileService::get(const CompileRequest &given) {
  CompileRequest request = given;
  const bool dumping = !settings.dumpFolder.empty();
  if (dumping && !language::isCudaSource(request.file))
    for (const std::string &stage : dumpStageNames(request.target))
      if (std::find(request.emit.begin(), request.emit.end(), stage) ==
          request.emit.end())
        request.emit.push_back(stage);
  if (!settings.overrideFolder.empty())
    addOverrides(request);
  std::sort(request.emit.begin(), request.emit.end());

  // The pack comes first: packed code needs neither ptxas nor a worker.
  const PackEntry *const packed = findInPack(request);
  const std::string assembler =
      packed ? packed->assembler : chooseAssembler(request);
  const Sha256Digest key = artifactKey(request.key(), settings.buildId,
                                       request.overrideKey(), assembler);
  std::string name = toHex(key);
  for (const std::string &stage : request.emit)
    name += " " + stage;

  std::promise<Result> promise;
  bool fresh = false; // for a dump, which the disk's entry does not serve
  {
    std::unique_lock<std::mutex> guard(mutex);
    Entry &entry = entries[name];
    if (Result made = entry.made.lock())
      return made;
    if (std::shared_future<Result> making = entry.making; making.valid()) {
      guard.unlock();
      return making.get();
    }
    entry.making = promise.get_future().share();
    fresh = dumping && !entry.dumped;
  }
  if (settings.pack && !packed && isPackable(request)) {
    ++counts.packMisses;
    warnOfMiss(*settings.pack, request);
  }
  try {
    bool onDisk = packed != nullptr;
    Result result = packed ? loadFromPack(request, *packed)
                           : make(request, key, fresh, onDisk);
    if (fresh)
      dumpStages(settings.dumpFolder, request, *result);
    if (!result->remarks.empty())
      logDebug(language::renderRemarks(request, result->remarks));
    promise.set_value(result);
    std::lock_guard<std::mutex> guard(mutex);
    Entry &entry = entries[name];
    entry.made = result;
    entry.kept = onDisk ? nullptr : result;
    entry.dumped |= fresh;
    entry.making = {};
    return result;
  } catch (const WorkerUnavailable &) {
    {
      std::lock_guard<std::mutex> guard(mutex);
      entries.erase(name);
    }
    promise.set_exception(std::current_exception());
    throw;
  } catch (...) {
    promise.set_exception(std::current_exception());
    throw;
  }
}

std::vector<std::shared_ptr<const CompiledKernel>>
CompileService::getAll(const std::vector<CompileRequest> &requests) {
  std::vector<Result> results(requests.size());
  std::atomic<size_t> next{0};
  std::mutex reportMutex;
  size_t done = 0;
  std::exception_ptr error;
  Progress progress(settings.patience);
  auto work = [&] {
    for (size_t i = next++; i < requests.size(); i = next++) {
      std::exception_ptr failed;
      try {
        results[i] = get(requests[i]);
      } catch (const WorkerUnavailable &) {
        failed = std::current_exception();
        next = requests.size(); // the others would wait for it as well
      } catch (...) {
        failed = std::current_exception();
      }
      std::lock_guard<std::mutex> guard(reportMutex);
      ++done;
      if (failed && !error)
        error = failed;
      if (done < requests.size() && progress.due())
        progress.show("kernels " + std::to_string(done) + "/" +
                      std::to_string(requests.size()) + " " +
                      requests[i].kernel +
                      progress.timeLeft(done, requests.size()));
    }
  };
  std::vector<std::thread> threads;
  for (size_t i = 1; i < std::min(pool.size(), requests.size()); ++i)
    threads.emplace_back(work);
  work();
  for (std::thread &thread : threads)
    thread.join();
  pool.releaseIdle();
  if (error)
    std::rethrow_exception(error);
  return results;
}

PackStats packStats() {
  CompileService &service = CompileService::instance();
  return {service.counters().packed, service.counters().packMisses,
          service.workers().started()};
}

} // namespace tessera::runtime
