// ops/launch/LaunchOp.cpp - the ops tessera::launch, for any kernel of any
// file, and tessera::kernel_stats.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "ops/Autograd.h"
#include "ops/Check.h"
#include "ops/Register.h"
#include "ops/launch/Launch.h"

#include <ATen/core/grad_mode.h>
#include <c10/core/Scalar.h>

namespace tessera::runtime {
namespace {
namespace launch_op {

void launch(c10::string_view file, c10::string_view kernel,
            at::TensorList tensors, at::ArrayRef<c10::Scalar> scalars,
            at::IntArrayRef grid, c10::string_view constexprs) {
  TESSERA_CHECK(grid.size() >= 1 && grid.size() <= 3, "launch", "grid has ",
                grid.size(), " entries and must have 1 to 3");
  withValueErrors([&] {
    Launch launch({file.data(), file.size()}, {kernel.data(), kernel.size()},
                  {constexprs.data(), constexprs.size()});
    for (const at::Tensor &tensor : tensors)
      launch.tensor(tensor);
    for (const c10::Scalar &scalar : scalars)
      launch.number(scalar);
    launch.run(grid[0], grid.size() > 1 ? grid[1] : 1,
               grid.size() > 2 ? grid[2] : 1);
  });
}

using Signature = void(c10::string_view, c10::string_view, at::TensorList,
                       at::ArrayRef<c10::Scalar>, c10::SymIntArrayRef,
                       c10::string_view);

// Rejects gradients as refuseGradient() does for other ops. A boxed function
// would copy all arguments of every launch.
void refuseLaunchGradient(c10::DispatchKeySet keys, c10::string_view file,
                          c10::string_view kernel, at::TensorList tensors,
                          at::ArrayRef<c10::Scalar> scalars,
                          c10::SymIntArrayRef grid,
                          c10::string_view constexprs) {
  if (at::GradMode::is_enabled())
    for (const at::Tensor &tensor : tensors)
      TORCH_CHECK_NOT_IMPLEMENTED(
          !tensor.requires_grad(),
          "tessera::launch: a raw launch has no gradient; call it under "
          "torch.no_grad() or on detached tensors");
  static const auto op = findOp<Signature>("launch");
  op.redispatch(keys & c10::after_autograd_keyset, file, kernel, tensors,
                scalars, grid, constexprs);
}

void meta(c10::string_view, c10::string_view, at::TensorList,
          at::ArrayRef<c10::Scalar>, c10::SymIntArrayRef, c10::string_view) {}

std::tuple<int64_t, int64_t, int64_t, int64_t> stats() {
  const KernelStats now = kernelStats();
  const auto number = [](uint64_t count) {
    return static_cast<int64_t>(count);
  };
  return {number(now.compiled), number(now.loaded), number(now.memoryHits),
          number(now.badCacheEntries)};
}

TORCH_LIBRARY_IMPL(tessera, CompositeExplicitAutograd, m) {
  m.impl("kernel_stats", stats);
}

TESSERA_OP("launch", launch, meta);
TORCH_LIBRARY_IMPL(tessera, Autograd, m) {
  m.impl("launch", TORCH_FN(refuseLaunchGradient));
}

} // namespace launch_op
} // namespace
} // namespace tessera::runtime
