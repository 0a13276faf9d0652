// runtime/compile/WorkerPool.cpp - the processes that compile.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "runtime/compile/WorkerPool.h"

#include "support/Error.h"
#include "support/File.h"
#include "support/Frames.h"
#include "support/Options.h"
#include "support/Process.h"

#include <algorithm>
#include <cerrno>
#include <sys/socket.h>

namespace tessera::runtime {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

struct WorkerPool::Worker {
  Process process;
  UniqueFd socket;
};

fs::path findWorker() {
  const char *const name = "tessera-worker";
  if (std::string path = optionText(Option::Worker); !path.empty()) {
    std::error_code ignored;
    if (fs::is_regular_file(path, ignored))
      return path;
    throw Error("TESSERA_WORKER=" + path + " is not a file",
                "set it to the path of tessera-worker, or unset it");
  }
  const fs::path beside = executablePath().parent_path();
  const fs::path library =
      libraryPath(reinterpret_cast<const void *>(&findWorker)).parent_path();
  std::string tried;
  for (const fs::path &folder :
       {beside, library, library.parent_path() / "bin"}) {
    std::error_code ignored;
    if (fs::is_regular_file(folder / name, ignored))
      return folder / name;
    if (tried.find(folder.string() + "\n") == std::string::npos)
      tried += folder.string() + "\n";
  }
  std::replace(tried.begin(), tried.end(), '\n', ' ');
  throw Error("a kernel has to be compiled, and tessera-worker is not there; "
              "looked in: " +
                  tried,
              "build the target tessera-worker, or set TESSERA_WORKER to its "
              "path");
}

WorkerPool::WorkerPool(size_t size) : limit(std::max<size_t>(size, 1)) {}

WorkerPool::~WorkerPool() = default;

uint64_t WorkerPool::started() const {
  std::lock_guard<std::mutex> guard(mutex);
  return startedCount;
}

std::unique_ptr<WorkerPool::Worker> WorkerPool::acquire() {
  std::unique_lock<std::mutex> guard(mutex);
  available.wait(guard, [&] { return busy < limit; });
  ++busy;
  while (!idle.empty()) {
    std::unique_ptr<Worker> worker = std::move(idle.back());
    idle.pop_back();
    // One that died while it had nothing to do is no fault of this request.
    if (!worker->process.wait(std::chrono::milliseconds(0)))
      return worker;
  }
  guard.unlock();
  try {
    int ends[2];
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
      throw Error("cannot make a socket: " + errnoText(errno),
                  "raise the limit of open files (ulimit -n)");
    UniqueFd ours(ends[0]), theirs(ends[1]);
    SpawnOptions options;
    options.arguments = {findWorker().string()};
    options.descriptors = {{workerRequestFd, theirs.get()},
                           {workerReplyFd, theirs.get()}};
    std::unique_ptr<Worker> worker(
        new Worker{Process::spawn(options), std::move(ours)});
    guard.lock();
    ++startedCount;
    return worker;
  } catch (...) {
    release(nullptr);
    throw;
  }
}

void WorkerPool::release(std::unique_ptr<Worker> worker) {
  {
    std::lock_guard<std::mutex> guard(mutex);
    --busy;
    if (worker)
      idle.push_back(std::move(worker));
  }
  available.notify_one();
}

void WorkerPool::releaseIdle() {
  std::vector<std::unique_ptr<Worker>> ended;
  std::lock_guard<std::mutex> guard(mutex);
  std::swap(ended, idle);
}

WorkerOutcome WorkerPool::run(std::string_view request,
                              std::chrono::milliseconds timeout) {
  std::unique_ptr<Worker> worker = acquire();
  const auto end = Clock::now() + timeout;
  auto left = [&] {
    return std::max(
        std::chrono::ceil<std::chrono::milliseconds>(end - Clock::now()),
        std::chrono::milliseconds(0));
  };
  WorkerOutcome outcome;
  const int socket = worker->socket.get();
  FrameStatus status = writeFrame(socket, request, left());
  if (status == FrameStatus::Good)
    status = readFrame(socket, outcome.reply, left());
  if (status == FrameStatus::Good)
    status = readFrame(socket, outcome.artifact, left());

  switch (status) {
  case FrameStatus::Good:
    release(std::move(worker));
    return outcome;
  case FrameStatus::TimedOut:
    outcome.failure = "gave no answer within " +
                      std::to_string(timeout.count() / 1000) +
                      " s and was killed";
    break;
  case FrameStatus::Invalid:
    outcome.failure = "sent what is not a reply";
    break;
  case FrameStatus::Closed:
    // It closed the connection; if it does not end by itself it is stuck.
    if (auto ended = worker->process.wait(std::chrono::seconds(5)))
      outcome.failure = "ended with " + ended->text();
    else
      outcome.failure = "closed its connection";
    break;
  }
  worker.reset(); // kills the group
  release(nullptr);
  return outcome;
}

} // namespace tessera::runtime
