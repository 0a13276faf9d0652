// tests/author/SimDeviceTest.cpp - tessera check and run on a simulated GPU.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "tests/author/Author.h"

using namespace tessera;

namespace {

using SimAuthor = Author;

// Kernel and backward against reference and finite differences.
TEST_F(SimAuthor, ATutorialChecks) {
  const CommandResult result =
      run({"check", TESSERA_SOURCE "/kernels/tutorials/dilated_window.py", "-i",
           "dilated_window_f32", "--device", "sim:sm_80"});
  expectFine(result);
  expectHas(result.output, "5+130+16+1 H=1");
  expectHas(result.output, "DQ");
  expectHasNot(result.output, "WRONG");
  expectHasNot(result.output, "cpu("); // hints for another device
}

TEST_F(SimAuthor, TheDefaultIsTheEnvironments) {
  const std::string file =
      TESSERA_SOURCE "/kernels/tutorials/dilated_window.py";
  CommandResult result =
      run({"run", file, "--lengths", "40"}, {"TESSERA_DEVICE=sim:sm_90"});
  expectFine(result);
  expectHas(result.output, "on sim:sm_90\n");
  expectHasNot(result.output, "median"); // no measure of anything
  result = run({"run", file, "--lengths", "40", "--device", "cpu"},
               {"TESSERA_DEVICE=sim:sm_90"});
  expectFine(result);
  expectHas(result.output, "on cpu:");
  expectRefused(run({"run", file, "--device", "sim:sm_81"}),
                "no device `sim:sm_81`");
  const CommandResult unknown = run({"check", file}, {"TESSERA_DEVICE=gpu"});
  expectRefused(unknown, "TESSERA_DEVICE: no device `gpu`");
  expectRefused(unknown, "`cuda` is a GPU, `sim:sm_80` a simulated one");
}

// The guard zones of `tessera check` on the cpu cannot see this store, because
// it is far past the tensor's end. The simulator reports its line.
TEST_F(SimAuthor, AMissingMaskIsFoundWithItsLine) {
  const std::string file = write("add.py", R"(import triton
import triton.language as tl


# tessera: grid(cdiv(N, BLOCK))
# tessera: check(N=[200], X=[N], Y=[N])
# tessera: instance small(X="*fp32:16", Y="*fp32:16", N="i32", BLOCK=64)
@triton.jit
def add(X, Y, N, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(X + i, mask=i < N)
    tl.store(Y + i, x + 1.0)


# tessera: grid(1)
@triton.jit
def add_ref(X, Y, N):
    for i in range(N):
        tl.store(Y + i, tl.load(X + i) + 1.0)
)");
  const CommandResult result = run({"check", file, "--device", "sim:sm_80"});
  expectRefused(result, "sim:sm_80: add: out-of-bounds");
  expectHas(result.errors, "add.py:12");
  expectHas(result.errors, "Y + 800, 1 beyond the last of its 800 bytes");
  expectHas(result.errors, "mask the access");
  edit(file, "x + 1.0)\n\n", "x + 1.0, mask=i < N)\n\n");
  expectFine(run({"check", file, "--device", "sim:sm_80"}));
}

} // namespace
