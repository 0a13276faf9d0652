// tests/faults/FakeWorker.cpp - a compiler process that misbehaves on demand.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
//
// The name of the requested kernel says how: crash, exit, hang, garbage, fail,
// slow, leave (answers, then exits); anything else succeeds with the artifact
// FAKE_WORKER_ARTIFACT. Every request adds a line "PID KERNEL" to
// FAKE_WORKER_LOG. It greets with the build id FAKE_WORKER_ID, else with the
// real one.
#include "compiler/syntax/Request.h"
#include "support/BuildId.h"
#include "support/File.h"
#include "support/Frames.h"
#include "support/Json.h"
#include "support/Process.h"

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <sys/resource.h>
#include <unistd.h>

using namespace tessera;

static syntax::CompileResult serve(const syntax::CompileRequest &request) {
  const std::string &kernel = request.kernel;
  if (kernel == "crash") {
    rlimit none = {0, 0};
    ::setrlimit(RLIMIT_CORE, &none);
    ::signal(SIGSEGV, SIG_DFL); // a sanitizer may have its own handler
    ::raise(SIGSEGV);
  }
  if (kernel == "exit")
    ::_exit(3);
  while (kernel == "hang")
    ::pause();
  if (kernel == "slow")
    ::usleep(300000);
  syntax::CompileResult result;
  if (kernel == "fail") {
    result.rendered = "k.py:1:1: error: does not compile\n";
    return result;
  }
  result.ok = true;
  for (const syntax::Argument &argument : request.args)
    if (!argument.isConstexpr())
      result.meta.params.push_back(
          {argument.name, argument.type[0] == '*' ? "pointer" : "scalar",
           argument.type});
  result.meta.scratchBytes = 1000;
  for (const std::string &stage : request.emit)
    result.stages[stage] = "text of " + stage;
  result.artifact = readFile(std::getenv("FAKE_WORKER_ARTIFACT"));
  return result;
}

int main() {
  exitWhenPeerCloses(workerRequestFd);
  std::string frame;
  while (readFrame(workerRequestFd, frame) == FrameStatus::Good) {
    if (parseJson(frame, "request").contains("hello")) {
      const char *id = std::getenv("FAKE_WORKER_ID");
      writeFrame(workerReplyFd,
                 Json{{"build_id", id ? id : compilerBuildId()}}.dump());
      writeFrame(workerReplyFd, "");
      continue;
    }
    const auto request = syntax::CompileRequest::fromJson(frame);
    if (const char *path = std::getenv("FAKE_WORKER_LOG")) {
      std::FILE *log = std::fopen(path, "a");
      std::fprintf(log, "%d %s\n", int(::getpid()), request.kernel.c_str());
      std::fclose(log);
    }
    const syntax::CompileResult result = serve(request);
    writeFrame(workerReplyFd,
               request.kernel == "garbage" ? "garbage" : result.toJson());
    writeFrame(workerReplyFd, result.artifact);
    if (request.kernel == "leave") {
      ::usleep(200000); // still alive when the next request arrives
      return 70;
    }
  }
}
