// tests/faults/FakeWorker.cpp - a compiler process that misbehaves on demand.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
//
// The name of the requested kernel selects how: crash, exit, hang, family
// (hangs with a child process), garbage, fail, slow, leave (answers, then
// exits), huge (an artifact of 16 MiB), phases (reports the phases LLVM, then
// ptxas); anything else succeeds with the artifact FAKE_WORKER_ARTIFACT,
// followed by the kernel's name where FAKE_WORKER_NAMED is set. Every request
// adds a line "PID KERNEL" to FAKE_WORKER_LOG. It greets with the build id
// FAKE_WORKER_ID, else with the real one, or with the text FAKE_WORKER_GREETING
// as it is, or not at all where FAKE_WORKER_MUTE is set (it adds "PID mute" to
// the log). FAKE_WORKER_DIE=in:N or out:N: killed once N bytes went in or out.
#include "language/Request.h"
#include "support/BuildId.h"
#include "support/File.h"
#include "support/Frames.h"
#include "support/Json.h"
#include "support/Process.h"

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <sys/resource.h>
#include <unistd.h>

using namespace tessera;

namespace {
// Bytes that may still go in and out before this process is killed.
size_t inLeft = SIZE_MAX, outLeft = SIZE_MAX;

void spend(size_t &left, size_t bytes) {
  left -= bytes;
  if (!left)
    ::raise(SIGKILL);
}

bool receive(char *data, size_t size) {
  while (size) {
    const ssize_t got = ::read(workerRequestFd, data, std::min(size, inLeft));
    if (got <= 0)
      return false;
    data += got;
    size -= size_t(got);
    spend(inLeft, size_t(got));
  }
  return true;
}

void send(const char *data, size_t size) {
  while (size) {
    const ssize_t put = ::write(workerReplyFd, data, std::min(size, outLeft));
    if (put <= 0)
      ::_exit(1);
    data += put;
    size -= size_t(put);
    spend(outLeft, size_t(put));
  }
}

bool receiveFrame(std::string &frame) {
  unsigned char header[4];
  if (!receive(reinterpret_cast<char *>(header), 4))
    return false;
  frame.resize(header[0] | header[1] << 8 | header[2] << 16 | header[3] << 24);
  return receive(frame.data(), frame.size());
}

void sendFrame(const std::string &frame) {
  const uint32_t size = uint32_t(frame.size());
  const char header[4] = {char(size), char(size >> 8), char(size >> 16),
                          char(size >> 24)};
  send(header, 4);
  send(frame.data(), frame.size());
}

void log(pid_t pid, const std::string &kernel) {
  const char *path = std::getenv("FAKE_WORKER_LOG");
  if (!path)
    return;
  std::FILE *file = std::fopen(path, "a");
  std::fprintf(file, "%d %s\n", int(pid), kernel.c_str());
  std::fclose(file);
}

void misbehave(const std::string &kernel) {
  if (kernel == "crash") {
    rlimit none = {0, 0};
    ::setrlimit(RLIMIT_CORE, &none);
    ::signal(SIGSEGV, SIG_DFL); // a sanitizer may have its own handler
    ::raise(SIGSEGV);
  }
  if (kernel == "exit")
    ::_exit(3);
  if (kernel == "family") {
    const pid_t child = ::fork();
    if (child > 0)
      log(child, "child");
    while (true)
      ::pause();
  }
  while (kernel == "hang")
    ::pause();
  if (kernel == "slow")
    ::usleep(300000);
  if (kernel == "phases")
    for (const char *phase : {"LLVM", "ptxas"})
      sendFrame(std::string(phasePrefix) + phase);
}

language::CompileResult serve(const language::CompileRequest &request) {
  const std::string &kernel = request.kernel;
  misbehave(kernel);
  language::CompileResult result;
  if (kernel == "fail") {
    result.rendered = "k.py:1:1: error: does not compile\n";
    return result;
  }
  result.ok = true;
  for (const language::Argument &argument : request.args)
    if (!argument.isConstexpr())
      result.meta.params.push_back(
          {argument.name, argument.type[0] == '*' ? "pointer" : "scalar",
           argument.type});
  result.meta.scratchBytes = 1000;
  if (request.target.starts_with("sm_")) {
    result.meta.symbol = kernel;
    result.meta.threads = 64;
  }
  for (const std::string &stage : request.emit)
    result.stages[stage] = "text of " + stage;
  result.artifact = readFile(std::getenv("FAKE_WORKER_ARTIFACT"));
  if (std::getenv("FAKE_WORKER_NAMED"))
    result.artifact += kernel;
  if (kernel == "huge")
    result.artifact.assign(size_t(16) << 20, 'h');
  return result;
}

void greet() {
  if (std::getenv("FAKE_WORKER_MUTE")) {
    log(::getpid(), "mute");
    while (true)
      ::pause();
  }
  const char *id = std::getenv("FAKE_WORKER_ID");
  const char *greeting = std::getenv("FAKE_WORKER_GREETING");
  sendFrame(greeting ? greeting
                     : Json{{"build_id", id ? id : compilerBuildId()}}.dump());
  sendFrame("");
}
} // namespace

int main() {
  exitWhenPeerCloses(workerRequestFd);
  if (const char *die = std::getenv("FAKE_WORKER_DIE")) {
    const std::string text = die;
    const size_t colon = text.find(':');
    (text.substr(0, colon) == "in" ? inLeft : outLeft) =
        std::stoull(text.substr(colon + 1));
    if (!inLeft || !outLeft)
      ::raise(SIGKILL);
  }
  std::string frame;
  while (receiveFrame(frame)) {
    if (parseJson(frame, "request").contains("hello")) {
      greet();
      continue;
    }
    const auto request = language::CompileRequest::fromJson(frame);
    log(::getpid(), request.kernel);
    const language::CompileResult result = serve(request);
    sendFrame(request.kernel == "garbage" ? "garbage" : result.toJson());
    sendFrame(result.artifact);
    if (request.kernel == "leave") {
      ::usleep(200000); // still alive when the next request arrives
      return 70;
    }
  }
}
