// compiler/Worker.cpp - the main loop of the worker, the process that compiles.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "compiler/Worker.h"

#include "compiler/Compile.h"
#include "language/Program.h"
#include "support/BuildId.h"
#include "support/CpuTarget.h"
#include "support/Error.h"
#include "support/Frames.h"
#include "support/Json.h"
#include "support/Options.h"
#include "support/Process.h"
#include "support/Quantities.h"

#include "llvm/Support/ErrorHandling.h"

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <dlfcn.h>
#include <new>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

using tessera::language::CompileRequest;
using tessera::language::CompileResult;

namespace tessera::compiler {
namespace {

bool reply(const std::string &json, const std::string &artifact) {
  return writeFrame(workerReplyFd, json) == FrameStatus::Good &&
         writeFrame(workerReplyFd, artifact) == FrameStatus::Good;
}

CompileResult failure(const std::string &file, const std::string &message,
                      const std::string &hint) {
  CompileResult result;
  language::DiagnosticRecord record;
  record.id = diagnosticName(DiagnosticId::CodegenFailed);
  record.severity = "error";
  record.file = file;
  record.message = message;
  record.hint = hint;
  result.diagnostics.push_back(record);
  result.rendered = (file.empty() ? "" : file + ": ") + "error: " + message +
                    "\nHINT: " + hint + "\n";
  return result;
}

// The file and the kernel of the current request; the handlers below read them.
std::string currentFile, currentKernel;

// LLVM ends the process on a fatal error. The reply contains the reason. The
// process still ends, because the state of LLVM is undefined.
void onFatalError(void *, const char *reason, bool) {
  CompileResult result =
      failure(currentFile,
              "LLVM cannot compile kernel `" + currentKernel + "`: " + reason,
              "this is a defect of tessera; please report it with the kernel");
  result.defect = true;
  reply(result.toJson(), "");
  _exit(70);
}

std::string memoryLimit; // text of the option, for messages

[[noreturn]] void onNoMemory() {
  std::set_new_handler(nullptr);
  // Lifts the limit, because the reply needs memory, too.
  rlimit limit = {};
  ::getrlimit(RLIMIT_AS, &limit);
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_AS, &limit);
  CompileResult result = failure(
      currentFile,
      "to compile kernel `" + currentKernel + "` takes more than " +
          memoryLimit + " of memory",
      "use smaller tiles or tuples, or unroll less; TESSERA_COMPILE_MEMORY "
      "sets the limit");
  reply(result.toJson(), "");
  _exit(70);
}

void onNoLlvmMemory(void *, const char *, bool) { onNoMemory(); }

// Handles a segmentation fault. MLIR does not check malloc's result for null.
// If the fault is near address 0 and the system gives no more memory, the reply
// reports the lack of memory. Any other fault ends the process as usual.
void onAccessToNothing(int number, siginfo_t *info, void *) {
  constexpr size_t kProbe = 1 << 20; // what malloc asks for at least
  void *probe = MAP_FAILED;
  const bool nearNull = reinterpret_cast<uintptr_t>(info->si_addr) < 65536;
  if (nearNull)
    probe =
        ::mmap(nullptr, kProbe, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (nearNull && probe == MAP_FAILED)
    onNoMemory();
  ::signal(number, SIG_DFL); // the access is repeated
}

// Limits the memory of the process. Without a limit, the kernel's OOM killer
// might end another process than this one.
void limitMemory() {
  const std::string text = optionText(Option::CompileMemory);
  const uint64_t bytes =
      parseBytes(text, optionInfo(Option::CompileMemory).name);
#ifndef __SANITIZE_ADDRESS__ // it reserves terabytes of addresses
  if (bytes) {
    rlimit limit = {};
    ::getrlimit(RLIMIT_AS, &limit);
    limit.rlim_cur = std::min<rlim_t>(bytes, limit.rlim_max);
    ::setrlimit(RLIMIT_AS, &limit);
  }
#endif
  memoryLimit = bytes ? bytesText(bytes) : "all there is";
  std::set_new_handler(onNoMemory);
  llvm::install_bad_alloc_error_handler(onNoLlvmMemory);
  if (bytes) {
    struct sigaction action = {};
    action.sa_sigaction = onAccessToNothing;
    action.sa_flags = SA_SIGINFO;
    ::sigaction(SIGSEGV, &action, nullptr);
  }
}

bool answer(const std::string &frame) {
  try {
    if (Json json = parseJson(frame, "request"); json.contains("hello"))
      return reply(Json{{"build_id", compilerBuildId()}}.dump(), "");
    CompileRequest request = CompileRequest::fromJson(frame);
    currentFile = request.file;
    currentKernel = request.kernel;
    CompileResult result = compile(request, [](std::string_view phase) {
      writeFrame(workerReplyFd, std::string(phasePrefix) + std::string(phase));
    });
    return reply(result.toJson(), result.artifact);
  } catch (const Error &error) {
    return reply(failure("", error.message, error.hint).toJson(), "");
  }
}

} // namespace

int workerMain() {
  exitWhenPeerCloses(workerRequestFd);
  llvm::install_fatal_error_handler(onFatalError);
  try {
    limitMemory();
  } catch (const Error &error) {
    std::fprintf(stderr, "tessera-worker: %s\n", error.what());
    return 1;
  }
  std::string frame;
  for (;;) {
    switch (readFrame(workerRequestFd, frame)) {
    case FrameStatus::Good:
      break;
    case FrameStatus::Closed:
      return 0;
    default:
      std::fprintf(stderr, "tessera-worker: a request that is not a frame\n");
      return 1;
    }
    if (!answer(frame))
      return 0;
  }
}

int workerSelfTest() {
  const char *const text = R"(import triton
import triton.language as tl


@triton.jit
def twice(X, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(X + i, mask=i < n)
    tl.store(X + i, x + x, mask=i < n)
)";
  auto target = CpuTarget::host();
  if (!target) {
    std::printf("this CPU has no AVX2: tessera has no code for it\n");
    return 1;
  }
  CompileRequest request;
  request.file = "selftest.py";
  request.kernel = "twice";
  request.text = text;
  request.args = {{"X", language::ArgKind::Pointer, "*fp32:16", {}},
                  {"n", language::ArgKind::Int, "i32", {}},
                  {"BLOCK", language::ArgKind::Constexpr, "",
                   language::Value(int64_t(64))}};
  request.target = target->name();
  CompileResult result = compile(request);
  if (!result.ok) {
    std::printf("%s", result.rendered.c_str());
    return 1;
  }
  double first = result.timings["total"];
  result = compile(request);

  int fd = memfd_create("selftest", MFD_CLOEXEC);
  std::string path = "/proc/self/fd/" + std::to_string(fd);
  bool written =
      fd >= 0 && write(fd, result.artifact.data(), result.artifact.size()) ==
                     ssize_t(result.artifact.size());
  void *library = written ? dlopen(path.c_str(), RTLD_NOW) : nullptr;
  using Entry =
      void (*)(const void *, const uint32_t *, const uint32_t *, void *);
  auto entry =
      library
          ? reinterpret_cast<Entry>(dlsym(library, result.meta.symbol.c_str()))
          : nullptr;
  if (!entry) {
    std::printf("the compiled kernel cannot be loaded: %s\n", dlerror());
    return 1;
  }
  alignas(64) float x[64];
  for (int i = 0; i < 64; ++i)
    x[i] = float(i);
  alignas(64) static char scratch[1 << 16];
  if (result.meta.scratchBytes > sizeof(scratch)) {
    std::printf("the kernel wants %llu bytes of scratch memory\n",
                static_cast<unsigned long long>(result.meta.scratchBytes));
    return 1;
  }
  uint64_t args[2] = {reinterpret_cast<uint64_t>(x), 63};
  const uint32_t pid[3] = {0, 0, 0}, grid[3] = {1, 1, 1};
  entry(args, pid, grid, scratch);
  for (int i = 0; i < 64; ++i)
    if (x[i] != (i < 63 ? 2.0f * i : float(i))) {
      std::printf("the compiled kernel gives a wrong result\n");
      return 1;
    }
  std::printf("compiled for %s in %.1f ms, then %.1f ms; the result is right\n",
              request.target.c_str(), first * 1e3,
              result.timings["total"] * 1e3);
  for (const auto &[phase, seconds] : result.timings)
    std::printf("  %-12s %7.2f ms\n", phase.c_str(), seconds * 1e3);
  return 0;
}

} // namespace tessera::compiler
