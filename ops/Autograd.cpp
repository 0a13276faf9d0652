// ops/Autograd.cpp - autograd kernels of ops that are not differentiable.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "ops/Autograd.h"

#include <ATen/core/grad_mode.h>
#include <torch/library.h>

namespace tessera::runtime {
namespace {

bool requiresGrad(const c10::IValue &value) {
  if (value.isTensor())
    return value.toTensor().defined() && value.toTensor().requires_grad();
  if (value.isTensorList())
    for (const at::Tensor &tensor : value.toTensorVector())
      if (tensor.requires_grad())
        return true;
  return false;
}

bool anyRequiresGrad(const c10::OperatorHandle &op,
                     const torch::jit::Stack &stack) {
  const size_t count = op.schema().arguments().size();
  for (size_t i = stack.size() - count; i < stack.size(); ++i)
    if (requiresGrad(stack[i]))
      return true;
  return false;
}

// Runs an op whose results have no gradient by definition (indices, ranges).
void withoutGradient(const c10::OperatorHandle &op, c10::DispatchKeySet keys,
                     torch::jit::Stack *stack) {
  op.redispatchBoxed(keys & c10::after_autograd_keyset, stack);
}

// Runs an op that has no gradient below autograd. Differentiating its results
// (double backward) is an error.
void refuseGradient(const c10::OperatorHandle &op, c10::DispatchKeySet keys,
                    torch::jit::Stack *stack) {
  if (at::GradMode::is_enabled() && anyRequiresGrad(op, *stack))
    TORCH_CHECK_NOT_IMPLEMENTED(
        false, op.schema().name(),
        ": double backward is not supported; call backward() or "
        "torch.autograd.grad() without create_graph=True");
  op.redispatchBoxed(keys & c10::after_autograd_keyset, stack);
}

using torch::CppFunction;

TORCH_LIBRARY_IMPL(tessera, Autograd, m) {
  for (const char *name : {"nsa_compress_backward",
                           "nsa_compressed_attention_backward",
                           "nsa_selected_attention_backward",
                           "selected_attention_backward",
                           "nsa_window_attention_backward",
                           "nsa_combine_backward",
                           "nsa_compress_pair_backward",
                           "nsa_gated_attention_backward",
                           "nsa_listed_attention",
                           "nsa_compressed_selection",
                           "decode_compressed",
                           "dense_attention_backward",
                           "mlp_activation_backward",
                           "rms_norm_backward",
                           "residual_norm_backward",
                           "linear_cross_entropy_backward",
                           "linear_cross_entropy_logits",
                           "linear_cross_entropy_logits_backward",
                           "custom_attention_backward",
                           "pattern_list_attention_backward",
                           "pattern_scores",
                           "pattern_decode",
                           "decode_attention"})
    m.impl(name, CppFunction::makeFromBoxedFunction<&refuseGradient>());
  for (const char *name : {"nsa_select", "nsa_select_scores", "nsa_ranges",
                           "nsa_block_lists", "compressed_offsets"})
    m.impl(name, CppFunction::makeFromBoxedFunction<&withoutGradient>());
}

} // namespace
} // namespace tessera::runtime
