// tests/author/FaultTest.cpp - kernels with mistakes that the processor stops,
// under tessera check and run and in a program that launches them.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "runtime/Kernel.h"
#include "support/Error.h"
#include "tests/author/Author.h"
#include "tools/check/Child.h"
#include "tools/check/GuardedMemory.h"

#include <csignal>
#include <cstring>
#include <sys/wait.h>
#include <unistd.h>

using namespace tessera;

namespace {

using AuthorFault = Author;

const char *const copy = R"(import triton
import triton.language as tl


# tessera: grid(1)
@triton.jit
def copy_ref(X, Y, N, OFF):
    for i in range(N):
        tl.store(Y + i, tl.load(X + i))


# tessera: instance small(X="*fp32:16", Y="*fp32:16", N="i32", OFF="i32", BLOCK=64)
# tessera: check(N=[128, 64], X=[N], Y=[N], OFF=0)
# tessera: grid(cdiv(N, BLOCK))
@triton.jit
def copy(X, Y, N, OFF, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(X + i + OFF)
    tl.store(Y + i, x)
)";

// Of the line of `copy` that starts like this.
static std::string lineOf(const std::string &start) {
  const std::string text = copy;
  const size_t place = text.find("\n    " + start);
  EXPECT_NE(place, std::string::npos) << start;
  return std::to_string(std::count(text.begin(), text.begin() + place, '\n') +
                        2);
}

TEST_F(AuthorFault, AnAccessOutsideIsAnErrorWithItsLocation) {
  const std::string file = write("copy.py", copy);
  expectFine(run({"check", file}));
  expectHas(run({"run", file}).output, "small, N=64 on cpu:");
  struct Mistake {
    std::string off, place;
  };
  // In elements; a tensor of 64 floats ends where its pages end.
  for (const Mistake &mistake :
       {Mistake{"64", " bytes after the end of `X`"},
        Mistake{"1", "reads memory that is not there, 0 bytes after the end"},
        Mistake{"10000", " bytes after the end of `X`"},
        Mistake{"-1000000", " bytes before the start of `X`"},
        Mistake{"500000000", "reads memory that is not there, "}}) {
    const CommandResult result =
        run({"run", file, "--arg", "OFF=" + mistake.off});
    expectRefused(result, "kernel `copy`: program (0, 0, 0) reads memory");
    expectHas(result.errors, mistake.place);
    expectHas(result.errors, "(copy.py:" + lineOf("x = tl.load") + ")");
    expectHas(result.errors, "--device sim:sm_80");
  }
  // The cache has one artifact for both files.
  const CommandResult renamed =
      run({"run", write("renamed.py", copy), "--arg", "OFF=64"});
  expectHas(renamed.errors, "(renamed.py:" + lineOf("x = tl.load") + ")");
  // The program that fails is named, and what writes.
  edit(file, "tl.store(Y + i, x)\n",
       "tl.store(Y + i + tl.program_id(0) // 1 "
       "* 1000000, x)\n");
  const CommandResult result = run({"check", file});
  expectRefused(result, "kernel `copy`: program (1, 0, 0) writes to memory "
                        "that is not there, ");
  expectHas(result.errors, "after the end of `Y`");
  expectHas(result.errors, "(copy.py:" + lineOf("tl.store(Y + i, x)") + ")");
}

TEST_F(AuthorFault, ADivisionByZeroEndsNothing) {
  const std::string file = write("divide.py", R"(import triton
import triton.language as tl


# tessera: grid(1)
@triton.jit
def divide_ref(X, Y, N):
    for i in range(N):
        x = tl.load(X + i)
        if x != 0:
            tl.store(Y + i, 100 // x + 100 % x)
        else:
            tl.store(Y + i, -1)


# tessera: instance small(X="*i32:16", Y="*i32:16", N="i32", BLOCK=64)
# tessera: check(N=[1, 63, 200], X=[N], Y=[N])
# tessera: grid(cdiv(N, BLOCK))
@triton.jit
def divide(X, Y, N, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(X + i, mask=i < N, other=0)
    y = tl.where(x == 0, -1, 100 // x + 100 % x)
    tl.store(Y + i, y, mask=i < N)
)");
  expectFine(run({"check", file}));
  expectFine(run({"check", file, "--device", "sim:sm_80"}));
}

TEST_F(AuthorFault, AGatherOutsideOfItsTileReadsTheTile) {
  const std::string file = write("pick.py", R"(import triton
import triton.language as tl


# tessera: grid(1)
@triton.jit
def pick_ref(X, I, Y, N):
    for i in range(N):
        tl.store(Y + i, tl.load(X + (tl.load(I + i) & 31)))


# tessera: instance small(X="*fp32:16", I="*i32:16", Y="*fp32:16", N="i32")
# tessera: check(N=[32], X=[32], I=(-2000000000, 2000000000, [N]), Y=[N])
# tessera: grid(1)
@triton.jit
def pick(X, I, Y, N):
    i = tl.arange(0, 32)
    tl.store(Y + i, tl.gather(tl.load(X + i), tl.load(I + i), 0))
)");
  expectFine(run({"check", file}));
  expectFine(run({"check", file, "--device", "sim:sm_80"}));
}

// A program that launches kernels continues after the error.
TEST_F(AuthorFault, ALaunchThrowsAndTheNextOneRuns) {
  ::setenv("TESSERA_CACHE_DIR", path("cache").c_str(), 1);
  const Kernel kernel = Kernel::fromFile(write("copy.py", copy), "copy");
  std::vector<float> x(256), y(256);
  for (size_t i = 0; i < x.size(); ++i)
    x[i] = float(i);
  auto launch = [&](int64_t off) {
    kernel.launch({4, 1, 1},
                  {Pointer{x.data(), DType::FP32, 1024},
                   Pointer{y.data(), DType::FP32}, int64_t(256), off},
                  {{"BLOCK", int64_t(64)}});
  };
  for (int round = 0; round < 3; ++round) {
    try {
      launch(1000000000);
      FAIL() << "nothing was thrown";
    } catch (const Error &error) {
      expectHas(error.message, "kernel `copy`: program (");
      expectHas(error.message, "reads memory that is not there, ");
      expectHas(error.hint, "sim:sm_80");
    }
    std::fill(y.begin(), y.end(), -1.0f);
    launch(0);
    EXPECT_EQ(x, y);
  }
}

// What the child of `check` and `run` does, and how it ends.
std::optional<int> afterChild(const std::function<void()> &work) {
  const std::optional<int> ended = tools::continueInChild();
  if (ended)
    return ended;
  work();
  ::_exit(0);
}

TEST(CheckChild, EndsAsItsChildDoes) {
  EXPECT_EQ(afterChild([] {}), 0);
  EXPECT_EQ(afterChild([] { ::_exit(7); }), 7);
  try {
    afterChild([] {
      tools::nowRunning("kernel `first`");
      tools::nowRunning("kernel `k` (N=3)");
      ::signal(SIGSEGV, SIG_DFL); // a sanitizer has its own
      ::raise(SIGSEGV);
    });
    FAIL() << "nothing was thrown";
  } catch (const Error &error) {
    EXPECT_EQ(error.message.find("kernel `k` (N=3) ended with signal 11"), 0u)
        << error.message;
    EXPECT_NE(error.hint.find("sim:sm_80"), std::string::npos);
  }
  // Ctrl-C ends both, as if there were one process.
  const pid_t both = ::fork();
  if (both == 0) {
    afterChild([] {
      ::signal(SIGINT, SIG_DFL);
      ::raise(SIGINT);
    });
    ::_exit(1);
  }
  int status = 0;
  ::waitpid(both, &status, 0);
  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGINT) << status;
}

TEST(CheckMemory, PagesAroundItStopWhatGoesOutside) {
  for (const size_t bytes : {0u, 1u, 64u, 100u, 4096u, 12345u}) {
    tools::GuardedMemory memory(bytes);
    char *const data = memory.data();
    EXPECT_EQ(reinterpret_cast<uintptr_t>(data) % 64, 0u);
    for (size_t i = 0; i < bytes; ++i)
      ASSERT_EQ(data[i], 0) << i;
    std::memset(data, 1, bytes);
    EXPECT_EQ(memory.writtenAfter(), -1);
    EXPECT_EQ(memory.writtenBefore(), -1);
    const size_t slack = (64 - bytes % 64) % 64;
    if (slack) {
      data[bytes + slack - 1] = 1;
      EXPECT_EQ(memory.writtenAfter(), ptrdiff_t(slack - 1));
      data[bytes] = 1;
      EXPECT_EQ(memory.writtenAfter(), 0);
    }
    auto readByChild = [&](const char *address) {
      try {
        afterChild([&] {
          ::signal(SIGSEGV, SIG_DFL);
          static_cast<void>(*(const volatile char *)address);
        });
        return true;
      } catch (const Error &) {
        return false;
      }
    };
    EXPECT_FALSE(readByChild(data + bytes + slack)) << bytes;
    EXPECT_FALSE(readByChild(data + bytes + slack + 60000000)) << bytes;
    EXPECT_FALSE(readByChild(data - 4096 - 64)) << bytes;
    EXPECT_FALSE(readByChild(data - 60000000)) << bytes;
    if (bytes) {
      EXPECT_TRUE(readByChild(data + bytes - 1)) << bytes;
    }
  }
  tools::GuardedMemory memory(64);
  memory.data()[-3] = 1;
  EXPECT_EQ(memory.writtenBefore(), 2);
}

} // namespace
