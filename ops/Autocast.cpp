// ops/Autocast.cpp - autocast rules (torch.autocast) of the ops.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include <ATen/autocast_mode.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>
#include <torch/library.h>

#include <string_view>

namespace tessera::runtime {
namespace {
namespace autocast_op {

using torch::CppFunction;

// True for arguments that autocast converts: queries, keys and values, which
// tensor cores multiply, and the two factors of a linear layer. Gates, filters,
// lse and other learned tensors keep their types.
bool isOperand(std::string_view name) {
  return name == "q" || name == "k" || name == "v" || name.starts_with("k_") ||
         name.starts_with("v_") || name == "extra_k" || name == "extra_v" ||
         name == "hidden" || name == "weight";
}
bool isFilter(std::string_view name) { return name.ends_with("_filter"); }

// Runs the op with autocast disabled, on arguments that `cast` converts.
template <c10::DeviceType device, typename Cast>
void withArguments(const c10::OperatorHandle &op, torch::jit::Stack *stack,
                   const Cast &cast) {
  const auto &arguments = op.schema().arguments();
  const size_t first = stack->size() - arguments.size();
  for (size_t i = 0; i < arguments.size(); ++i)
    if (c10::IValue &value = (*stack)[first + i]; value.isTensor())
      value = cast(arguments[i].name(), value.toTensor());
  const c10::impl::ExcludeDispatchKeyGuard below(
      at::autocast::get_autocast_dispatch_key_from_device_type(device));
  op.callBoxed(stack);
}

template <c10::DeviceType device>
void narrowOperands(const c10::OperatorHandle &op, torch::jit::Stack *stack) {
  const at::ScalarType type = at::autocast::get_autocast_dtype(device);
  withArguments<device>(
      op, stack, [&](std::string_view name, const at::Tensor &tensor) {
        return isOperand(name) && !isFilter(name)
                   ? at::autocast::cached_cast(type, tensor, device)
                   : tensor;
      });
}

// Converts the branches of a gated sum to one type; under autocast their types
// may differ.
template <c10::DeviceType device>
void widenBranches(const c10::OperatorHandle &op, torch::jit::Stack *stack) {
  const size_t first = stack->size() - op.schema().arguments().size();
  at::ScalarType type = (*stack)[first].toTensor().scalar_type();
  for (size_t i = 1; i < 3; ++i)
    type =
        at::promote_types(type, (*stack)[first + i].toTensor().scalar_type());
  withArguments<device>(
      op, stack, [&](std::string_view name, const at::Tensor &tensor) {
        return name.starts_with("o_")
                   ? at::autocast::cached_cast(type, tensor, device)
                   : tensor;
      });
}

template <c10::DeviceType device>
void implement(torch::Library &m) {
  for (const char *name :
       {"nsa_attention", "nsa_gated_attention", "nsa_compressed_attention",
        "nsa_compressed_selection", "nsa_select", "nsa_select_scores",
        "nsa_selected_attention", "selected_attention", "nsa_window_attention",
        "dense_attention", "custom_attention", "pattern_list_attention",
        "linear_cross_entropy"})
    m.impl(name, CppFunction::makeFromBoxedFunction<&narrowOperands<device>>());
  m.impl("nsa_combine",
         CppFunction::makeFromBoxedFunction<&widenBranches<device>>());
}

TORCH_LIBRARY_IMPL(tessera, AutocastCPU, m) { implement<c10::kCPU>(m); }
TORCH_LIBRARY_IMPL(tessera, AutocastCUDA, m) { implement<c10::kCUDA>(m); }

} // namespace autocast_op
} // namespace
} // namespace tessera::runtime
