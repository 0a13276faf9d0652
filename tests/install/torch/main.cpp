// tests/install/torch/main.cpp - launches a kernel by itself and one by an op,
// and asks both for the count; compares tessera::attention with torch's.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include <ATen/ATen.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <tessera/Attention.h>
#include <tessera/Kernel.h>

#include <array>
#include <cstdio>
#include <vector>

static c10::Stack call(const char *op, c10::Stack stack) {
  c10::Dispatcher::singleton().findSchemaOrThrow(op, "").callBoxed(stack);
  return stack;
}

static at::Tensor prefixAttention(const at::Tensor &q, const at::Tensor &k,
                                  const at::Tensor &v) {
  // Two sequences, of 20 and 30 tokens, with prefixes of 5 and 9.
  tessera::AttentionOptions options;
  options.perSequence = at::tensor({5, 9}, at::kInt).unsqueeze(0);
  return tessera::attention(q, k, v, at::tensor({0, 20, 50}, at::kInt), 30,
                            "kernels/patterns/prefix_lm.py", options)
      .o;
}

static at::Tensor withTorch(const at::Tensor &q, const at::Tensor &k,
                            const at::Tensor &v) {
  std::vector<at::Tensor> parts;
  for (const auto &[first, length, prefix] :
       {std::array<int64_t, 3>{0, 20, 5}, std::array<int64_t, 3>{20, 30, 9}}) {
    const at::Tensor t = at::arange(length);
    const at::Tensor seen =
        (t.unsqueeze(0) <= t.unsqueeze(1)).logical_or(t.unsqueeze(0) < prefix);
    const auto heads = [first = first, length = length](const at::Tensor &x) {
      return x.narrow(0, first, length).transpose(0, 1);
    };
    parts.push_back(
        at::scaled_dot_product_attention(heads(q), heads(k), heads(v), seen)
            .transpose(0, 1));
  }
  return at::cat(parts);
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

  std::vector<at::Tensor> ours, theirs;
  for (int i = 0; i < 3; ++i) {
    const at::Tensor one = at::linspace(-1, 1, 50 * 2 * 16).mul(7 + i).sin();
    ours.push_back(one.view({50, 2, 16}).clone().requires_grad_());
    theirs.push_back(one.view({50, 2, 16}).clone().requires_grad_());
  }
  const at::Tensor o = prefixAttention(ours[0], ours[1], ours[2]);
  const at::Tensor want = withTorch(theirs[0], theirs[1], theirs[2]);
  o.square().sum().backward();
  want.square().sum().backward();
  bool same = at::allclose(o, want, 1e-4, 1e-5);
  for (size_t i = 0; i < 3; ++i)
    same = same && at::allclose(ours[i].grad(), theirs[i].grad(), 1e-4, 1e-5);
  std::printf("attention and its gradients are %s\n",
              same ? "those of torch" : "wrong");
}
