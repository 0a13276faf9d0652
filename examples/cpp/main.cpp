// examples/cpp/main.cpp - launches a kernel of a file, and one that comes with
// tessera, on plain memory.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include <tessera/Error.h>
#include <tessera/Kernel.h>

#include <cstdio>
#include <numeric>
#include <vector>

int main(int argc, char **argv) try {
  const int64_t n = 1000, block = 256;
  std::vector<float> x(n), y(n, 1.0f), out(n);
  std::iota(x.begin(), x.end(), 0.0f);
  const tessera::Kernel saxpy =
      tessera::Kernel::fromFile(argc > 1 ? argv[1] : "saxpy.py", "saxpy");
  saxpy.launch({uint32_t((n + block - 1) / block), 1, 1},
               {tessera::Pointer{x.data()}, tessera::Pointer{y.data()},
                tessera::Pointer{out.data()}, 2.0, n},
               {{"BLOCK", block}});
  std::printf("2 * %g + %g = %g\n", x[999], y[999], out[999]);

  // The sums of 4 columns, over 250 rows.
  std::vector<float> sums(4);
  tessera::Kernel::fromFile("kernels/nn/reduce_rows.py", "reduce_rows")
      .launch({1, 1, 1},
              {tessera::Pointer{out.data()}, tessera::Pointer{sums.data()},
               int64_t(250), int64_t(4)});
  std::printf("sums: %g %g %g %g\n", sums[0], sums[1], sums[2], sums[3]);

  const tessera::KernelStats stats = tessera::kernelStats();
  std::printf("kernels compiled: %d, from the cache: %d\n", int(stats.compiled),
              int(stats.loaded));
} catch (const tessera::Error &error) {
  std::fprintf(stderr, "error: %s\n", error.what());
  return 1;
}
