// tests/unit/replay/TextTest.cpp - tests of replay/KernelText.h.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "replay/KernelText.h"

#include "replay/Record.h"
#include "runtime/Kernel.h"
#include "support/Error.h"

#include <gtest/gtest.h>

#include <algorithm>

using namespace tessera;

namespace {

const char *const module = R"PY("""A module that Python can import.

@triton.jit in a docstring means nothing.
"""
import os
import triton
import triton.language as tl
from dataclasses import dataclass
from triton.language.extra import libdevice

LOG2E: tl.constexpr = 1.44
TWO = 2; SCALE, OTHER = tl.constexpr(2.0), 3
SIZES = {n: n * 2 for n in
         range(4)}
UNUSED = some_function(
    3)
if os.environ.get("X"):
    LOG2E = 2.0
try:
    import numpy
except ImportError:
    numpy = None


@dataclass
class Settings:
    block: int = 64


def configs():
    while True:
        yield triton.Config({"B": 64})


@triton.jit
def other(x):
    class Nothing:
        pass


@triton.jit
def helper(x):
    return "an earlier one"


@triton.jit
def helper(x):
    return x * LOG2E * SCALE


@triton.autotune(
    configs=list(configs()),
    key=["n"],
)
@triton.heuristics({"EVEN": lambda args: args["n"] % 2 == 0})
@triton.jit(do_not_specialize=["n"])
def kernel(X, n,
           B: tl.constexpr, EVEN: tl.constexpr):
    i = tl.arange(0, B)
    text = "helper('"
    tl.store(X + i, helper(tl.load(X + i, mask=i < n)), mask=i < n)


if __name__ == "__main__":
    kernel[(1,)](None)
)PY";

} // namespace

TEST(KernelText, KeepsWhatTheKernelNeeds) {
  EXPECT_THROW(Kernel::fromSource(module, "kernel"), CompileError);
  const std::string text = cases::onlyKernel(module, "kernel");
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'),
            std::count(module, module + std::string(module).size(), '\n'));
  for (const char *kept :
       {"LOG2E: tl.constexpr = 1.44\n", "SCALE, OTHER =", "def helper(x):\n",
        "def kernel(X, n,\n", "@triton.jit(do_not_specialize=[\"n\"])\n",
        "import triton\n"})
    EXPECT_NE(text.find(kept), std::string::npos) << kept << text;
  for (const char *dropped :
       {"class", "autotune", "heuristics", "UNUSED", "os", "def other",
        "earlier", "numpy", "docstring", "SIZES"})
    EXPECT_EQ(text.find(dropped), std::string::npos) << dropped << text;
  // Locations do not change: `def kernel` stays on its line.
  auto line = [](const std::string &all) {
    const size_t at = all.find("def kernel");
    return std::count(all.begin(), all.begin() + long(at), '\n');
  };
  EXPECT_EQ(line(text), line(module));
  const Kernel kernel = Kernel::fromSource(text, "kernel");
  EXPECT_EQ(kernel.parameters(), (std::vector<std::string>{"X", "n"}));
}

TEST(KernelText, HelpersOfOtherFilesAreBelowTheKernel) {
  const std::string own = R"PY(# A kernel that imports.
import triton
import triton.language as tl
from rows import twice


@triton.jit
def other(x):
    return x


@triton.jit
def kernel(X, B: tl.constexpr):
    i = tl.arange(0, B)
    tl.store(X + i, twice(other(tl.load(X + i))))


def host():
    pass
)PY";
  const std::string rows = R"PY(import triton
import triton.language as tl
from factors import by

UNUSED: tl.constexpr = 3
TWO: tl.constexpr = 2


@triton.jit
def other(x): # another one of that name
    return -x


@triton.jit
def twice(x):
    # doubles
    return by(x, TWO)
)PY";
  const std::string factors = R"PY(import triton
@triton.jit
def by(x, factor):
    return x * factor
)PY";
  const std::string text = cases::onlyKernel(
      {{"/a/own.py", own}, {"/b/rows.py", rows}, {"/b/factors.py", factors}},
      "kernel");
  EXPECT_EQ(text, R"PY(
import triton
import triton.language as tl



@triton.jit
def other(x):
    return x


@triton.jit
def kernel(X, B: tl.constexpr):
    i = tl.arange(0, B)
    tl.store(X + i, twice(other(tl.load(X + i))))




TWO: tl.constexpr = 2


# rows.py:14
@triton.jit
def twice(x):
    # doubles
    return by(x, TWO)


# factors.py:2
@triton.jit
def by(x, factor):
    return x * factor
)PY");
  EXPECT_EQ(Kernel::fromSource(text, "kernel").parameters(),
            std::vector<std::string>{"X"});
}

TEST(KernelText, HintsBelongToTheKernelBelowThem) {
  const std::string text = R"PY(# The head of the file.
import triton
import triton.language as tl


# tessera: types("X: *fp32:16")
# tessera: instance first_8(B=8)
@triton.jit
def first(X, B: tl.constexpr):
    tl.store(X + tl.arange(0, B), 1.0)
# in the block
    tl.store(X, 2.0)


# tessera: types("Y: *fp32:16")
# tessera: instance second_8(C=8)

@triton.jit
def second(Y, C: tl.constexpr):
    tl.store(Y + tl.arange(0, C), 1.0)
)PY";
  for (const auto &[name, own, others] :
       {std::tuple{"first", "X: *fp32:16", "Y: *fp32:16"},
        std::tuple{"second", "Y: *fp32:16", "X: *fp32:16"}}) {
    const std::string kept = cases::onlyKernel(text, name);
    EXPECT_NE(kept.find(own), std::string::npos) << kept;
    EXPECT_EQ(kept.find(others), std::string::npos) << kept;
    EXPECT_EQ(kept.find("The head"), std::string::npos) << kept;
    EXPECT_EQ(Kernel::fromSource(kept, name).parameters().size(), 1u);
  }
  EXPECT_NE(cases::onlyKernel(text, "first").find("# in the block\n"),
            std::string::npos);
}

TEST(KernelText, AnyTextIsTaken) {
  for (const char *text : {"", "\n", "@", "@triton.jit", "@triton.jit\n@x(\n",
                           "def", "x = (", "'''", "kernel = 3", "\\\n"})
    EXPECT_LE(cases::onlyKernel(text, "kernel").size(),
              std::string(text).size());
}

TEST(KernelText, ConstantsOfTheModuleAreConstexprAndVariablesAreNot) {
  EXPECT_EQ(runtime::importableText("# 3\n"
                                    "from triton import language as tl\n"
                                    "_SCALE = 2\n"
                                    "SIZES = (2, 3)\n"
                                    "TYPE = tl.float32\n"
                                    "@triton.jit\n"
                                    "def kernel(X, B=4):\n"
                                    "    n = 3\n"
                                    "    _m = n\n"
                                    "    tl.store(X, _m * _SCALE)\n"),
            "from triton import language as tl\n"
            "_SCALE = tl.constexpr(2)\n"
            "SIZES = (2, 3)\n"
            "TYPE = tl.float32\n"
            "\n\n@triton.jit\n"
            "def kernel(X, B=4):\n"
            "    n = 3\n"
            "    _m = n\n"
            "    tl.store(X, _m * _SCALE)\n");
}
