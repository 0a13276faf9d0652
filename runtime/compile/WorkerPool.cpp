// runtime/compile/WorkerPool.cpp - the processes that compile.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "runtime/compile/WorkerPool.h"

#include "support/Descriptors.h"
#include "support/Error.h"
#include "support/File.h"
#include "support/Frames.h"
#include "support/Json.h"
#include "support/Options.h"
#include "support/Process.h"
#include "support/Trust.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <new>
#include <sys/socket.h>

namespace tessera::runtime {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

struct WorkerPool::Worker {
  Process process;
  UniqueFd socket;
  bool used = false; // has answered a request before
};

// Interval at which waiting callers receive the phase of the worker.
static constexpr std::chrono::milliseconds waitingStep{200};

// Reserves one worker of the pool. The destructor returns it.
class WorkerPool::Lease {
public:
  explicit Lease(WorkerPool &pool) : pool(pool) {
    std::unique_lock<std::mutex> guard(pool.mutex);
    pool.available.wait(guard, [&] { return pool.busy < pool.limit; });
    ++pool.busy;
    while (!worker && !pool.idle.empty()) {
      worker = std::move(pool.idle.back());
      pool.idle.pop_back();
      // A worker that died while idle is not this request's failure.
      if (worker->process.wait(std::chrono::milliseconds(0)))
        worker.reset();
    }
  }
  Lease(const Lease &) = delete;
  ~Lease() {
    if (!healthy)
      worker.reset(); // kills the group
    {
      std::lock_guard<std::mutex> guard(pool.mutex);
      --pool.busy;
      if (worker)
        pool.idle.push_back(std::move(worker)); // there is room
    }
    pool.available.notify_one();
  }

  std::unique_ptr<Worker> worker; // null: one is to be started
  bool healthy = false;           // it can take another request

private:
  WorkerPool &pool;
};

// This process executes the worker's output, so the worker's file must be
// trusted. The library itself needs no check: a user who can change it already
// controls this process.
static fs::path trustedWorker(const fs::path &path) {
  requireTrusted(path, "the compiler " + path.string(),
                 TrustedContext::of(
                     libraryPath(reinterpret_cast<const void *>(&findWorker))));
  return path;
}

fs::path findWorker() {
  const char *const name = "tessera-worker";
  if (std::string path = optionText(Option::Worker); !path.empty()) {
    std::error_code ignored;
    if (fs::is_regular_file(path, ignored))
      return trustedWorker(path);
    throw Error("TESSERA_WORKER=" + path + " is not a file",
                "set it to the path of tessera-worker, or unset it");
  }
  const fs::path beside = executablePath().parent_path();
  const fs::path library =
      libraryPath(reinterpret_cast<const void *>(&findWorker)).parent_path();
  // Where it is installed; libraries may be in lib or lib/x86_64-linux-gnu.
  const fs::path installed = "libexec/tessera";
  std::vector<fs::path> tried;
  for (const fs::path &folder :
       {beside, library, library.parent_path() / "bin",
        library.parent_path() / installed,
        library.parent_path().parent_path() / installed}) {
    std::error_code ignored;
    if (fs::is_regular_file(folder / name, ignored))
      return trustedWorker(folder / name);
    if (std::find(tried.begin(), tried.end(), folder) == tried.end())
      tried.push_back(folder);
  }
  std::string folders;
  for (const fs::path &folder : tried)
    folders += " " + folder.string();
  throw Error("a kernel has to be compiled, and tessera-worker is not there; "
              "looked in:" +
                  folders,
              "install it with the library (cmake --install does), build the "
              "target tessera-worker, or set TESSERA_WORKER to its path");
}

WorkerPool::WorkerPool(size_t size, std::string buildId,
                       std::chrono::milliseconds greetingTimeout)
    : limit(std::max<size_t>(size, 1)), buildId(std::move(buildId)),
      greetingTimeout(greetingTimeout) {
  idle.reserve(limit);
}

WorkerPool::~WorkerPool() = default;

uint64_t WorkerPool::started() const {
  std::lock_guard<std::mutex> guard(mutex);
  return startedCount;
}

size_t WorkerPool::busyNow() const {
  std::lock_guard<std::mutex> guard(mutex);
  return busy;
}

std::unique_ptr<WorkerPool::Worker> WorkerPool::start() {
  const std::string path = findWorker().string();
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
    throw Error("cannot make a socket: " + errnoText(errno),
                hintForOpen(errno, "end some programs"));
  UniqueFd ours(ends[0]), theirs(ends[1]);
  SpawnOptions options;
  options.arguments = {path};
  options.descriptors = {{workerRequestFd, theirs.get()},
                         {workerReplyFd, theirs.get()}};
  std::unique_ptr<Worker> worker(
      new Worker{Process::spawn(options), std::move(ours)});
  theirs.reset();

  const std::string theirId = greet(*worker, path);
  if (theirId != buildId)
    throw Error(path + " was built from other sources than this program (" +
                    theirId.substr(0, 12) + ", wanted " +
                    buildId.substr(0, 12) + ")",
                "build both again, or set TESSERA_WORKER to the one that "
                "belongs to this program");
  std::lock_guard<std::mutex> guard(mutex);
  ++startedCount;
  return worker;
}

std::string WorkerPool::greet(Worker &worker, const std::string &path) {
  std::string reply, nothing;
  const int socket = worker.socket.get();
  FrameStatus status = writeFrame(socket, R"({"hello":1})", greetingTimeout);
  if (status == FrameStatus::Good)
    status = readFrame(socket, reply, greetingTimeout);
  if (status == FrameStatus::Good)
    status = readFrame(socket, nothing, greetingTimeout);
  std::string how = " is not a tessera-worker: it sent what is not a reply";
  if (status == FrameStatus::Good) {
    try {
      const Json greeting = parseJson(reply, "its greeting");
      checkKeys(greeting, {"build_id"}, "its greeting");
      return member<std::string>(greeting, "build_id", "its greeting");
    } catch (const Error &error) {
      how = " is not a tessera-worker: " + error.message;
    }
  } else if (status == FrameStatus::TimedOut) {
    how = " hung before it answered: no greeting within " +
          std::to_string((greetingTimeout.count() + 999) / 1000) + " s";
  } else if (status == FrameStatus::Closed) {
    auto ended = worker.process.wait(std::chrono::seconds(5));
    how = (ended ? " ended with " + ended->text()
                 : std::string(" closed its connection")) +
          " before it answered";
  }
  throw Error(path + how,
              "run it by hand with --selftest to see what is wrong");
}

void WorkerPool::releaseIdle() {
  std::vector<std::unique_ptr<Worker>> ended;
  std::lock_guard<std::mutex> guard(mutex);
  std::swap(ended, idle);
}

WorkerOutcome WorkerPool::run(std::string_view request,
                              std::chrono::milliseconds timeout,
                              const Waiting &waiting) {
  while (true) {
    Lease lease(*this);
    try {
      if (!lease.worker)
        lease.worker = start();
      const bool used = lease.worker->used;
      bool exited = false;
      WorkerOutcome outcome =
          ask(*lease.worker, request, timeout, waiting, exited);
      lease.healthy = outcome.failure.empty();
      lease.worker->used = true;
      // An idle worker may have been killed, or be about to exit after an LLVM
      // error in an earlier request. Neither is this request's failure, so a
      // fresh worker decides.
      if (!(used && exited))
        return outcome;
    } catch (const Error &error) {
      throw WorkerUnavailable(error.message, error.hint);
    } catch (const std::bad_alloc &) {
      throw WorkerUnavailable(
          "no memory for what the compiler sent",
          "free some memory, or let the process have more (ulimit -v)");
    }
  }
}

WorkerOutcome WorkerPool::ask(Worker &worker, std::string_view request,
                              std::chrono::milliseconds timeout,
                              const Waiting &waiting, bool &exited) {
  const auto end = Clock::now() + timeout;
  auto left = [&] {
    return std::max(
        std::chrono::ceil<std::chrono::milliseconds>(end - Clock::now()),
        std::chrono::milliseconds(0));
  };
  WorkerOutcome outcome;
  const int socket = worker.socket.get();
  FrameStatus status = writeFrame(socket, request, left());
  std::string phase;
  while (status == FrameStatus::Good) {
    while (awaitFrame(socket, std::min(left(), waitingStep)) ==
               FrameStatus::TimedOut &&
           left().count() > 0)
      waiting(phase);
    status = readFrame(socket, outcome.reply, left());
    if (status != FrameStatus::Good || !outcome.reply.starts_with(phasePrefix))
      break;
    phase = outcome.reply.substr(phasePrefix.size());
    waiting(phase);
  }
  if (status == FrameStatus::Good)
    status = readFrame(socket, outcome.artifact, left());

  switch (status) {
  case FrameStatus::Good:
    break;
  case FrameStatus::TimedOut:
    outcome.failure = "gave no answer within " +
                      std::to_string(timeout.count() / 1000) +
                      " s and was killed";
    break;
  case FrameStatus::Invalid:
    outcome.failure = "sent what is not a reply";
    break;
  case FrameStatus::Closed:
    // The worker closed the connection. It is stuck if it does not exit now.
    if (auto ended = worker.process.wait(std::chrono::seconds(5))) {
      outcome.failure = "ended with " + ended->text();
      // A compiler that crashes gets another signal.
      exited = ended->signal == 0 || ended->signal == SIGKILL;
    } else {
      outcome.failure = "closed its connection";
    }
    break;
  }
  return outcome;
}

} // namespace tessera::runtime
