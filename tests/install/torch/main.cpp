// tests/install/torch/main.cpp - launches a kernel by itself and one by an op,
// and asks both for the count.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/ops/from_blob.h>
#include <tessera/Kernel.h>

#include <cstdio>
#include <vector>

static c10::Stack call(const char *op, c10::Stack stack) {
  c10::Dispatcher::singleton().findSchemaOrThrow(op, "").callBoxed(stack);
  return stack;
}

int main(int argc, char **argv) {
  std::vector<float> x(8, 1.0f), y(8, 2.0f), out(8);
  tessera::Kernel::fromFile(argv[1], "saxpy")
      .launch({1, 1, 1},
              {tessera::Pointer{x.data()}, tessera::Pointer{y.data()},
               tessera::Pointer{out.data()}, 2.0, int64_t(8)},
              {{"BLOCK", int64_t(256)}});
  call("tessera::rms_norm",
       {at::from_blob(x.data(), {1, 8}), at::from_blob(y.data(), {8}), 1e-6});
  const c10::Stack stats = call("tessera::kernel_stats", {});
  std::printf("by tessera::kernelStats(): %d, by the op: %d\n",
              int(tessera::kernelStats().compiled), int(stats[0].toInt()));
}
