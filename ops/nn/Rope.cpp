// ops/nn/Rope.cpp - rotary position embedding: the table of angles and the
// rotation.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "ops/Autograd.h"
#include "ops/Check.h"
#include "ops/Register.h"
#include "ops/launch/EmptyTensor.h"
#include "ops/launch/Launch.h"

#include <ATen/ops/empty.h>
#include <cmath>

namespace tessera::runtime {
namespace {
namespace rope_op {

using at::Tensor;

// Computes angles in double. At long positions an fp32 product of position and
// frequency is wrong in the fourth digit.
std::tuple<Tensor, Tensor> table(int64_t positions, int64_t dim, double base,
                                 double scale, int64_t stride) {
  const char *op = "rope_table";
  checkNotNegative(op, "positions", positions);
  TESSERA_CHECK(dim > 0 && dim % 2 == 0, op, "dim is ", dim,
                " and must be even and positive");
  TESSERA_CHECK(base > 0, op, "base is ", base, " and must be positive");
  TESSERA_CHECK(scale > 0, op, "scale is ", scale, " and must be positive");
  Tensor cos = at::empty({positions, dim / 2}, at::kFloat);
  Tensor sin = at::empty({positions, dim / 2}, at::kFloat);
  float *cosines = cos.mutable_data_ptr<float>(),
        *sines = sin.mutable_data_ptr<float>();
  for (int64_t i = 0; i < dim / 2; ++i) {
    const double frequency =
        std::pow(base, -2 * static_cast<double>(i) / static_cast<double>(dim)) /
        scale;
    for (int64_t p = 0; p < positions; ++p) {
      const double angle = static_cast<double>(p * stride) * frequency;
      cosines[p * (dim / 2) + i] = static_cast<float>(std::cos(angle));
      sines[p * (dim / 2) + i] = static_cast<float>(std::sin(angle));
    }
  }
  return {cos, sin};
}

Tensor rotate(const Tensor &x, const Tensor &cos, const Tensor &sin,
              const Tensor &cuSeqlens, int64_t maxSeqlen, int64_t firstPosition,
              bool inverse) {
  const char *op = "rope";
  checkRank(op, "x", x, 3);
  checkFloating(op, "x", x);
  checkRank(op, "cos", cos, 2);
  TESSERA_CHECK(
      cos.scalar_type() == at::kFloat && sin.scalar_type() == at::kFloat, op,
      "cos is ", cos.scalar_type(), " and sin is ", sin.scalar_type(),
      "; pass the float32 tables of tessera::rope_table");
  checkShape(op, "sin", sin, cos.sizes(), "the shape of cos");
  const int64_t rotated = 2 * cos.size(1), dim = x.size(2);
  TESSERA_CHECK(rotated > 0 && rotated <= dim, op, "cos has ", cos.size(1),
                " columns, which rotate ", rotated, " channels, but x has ",
                dim, "; make the table with dim <= ", dim, " and even");
  checkSequences(op, cuSeqlens, maxSeqlen, x.size(0), "x", x);
  checkSameDevice(op, "cos", cos, "x", x);
  checkSameDevice(op, "sin", sin, "x", x);
  checkNotNegative(op, "first_position", firstPosition);
  TESSERA_CHECK(cos.size(0) >= firstPosition + maxSeqlen, op, "cos has ",
                cos.size(0), " positions but ", firstPosition + maxSeqlen,
                " are needed; make a longer table with tessera::rope_table");
  const Tensor input = unitLast(x), cosines = cos.contiguous(),
               sines = sin.contiguous();
  Tensor y = emptyTensor(x.sizes(), x.options());
  Launch launch("kernels/nn/rope.py", "rope");
  launch.tensor(input).tensor(y).tensor(cosines).tensor(sines).tensor(
      cuSeqlens);
  launch.integer(firstPosition).strides(input).strides(y);
  launch.constant("D", dim).constant("R", rotated);
  launch.constant("RH", nextPowerOfTwo(rotated / 2))
      .constant("RT", nextPowerOfTwo(dim - rotated));
  launch.constant("INVERSE", inverse).sequence(maxSeqlen);
  launch.run(x.size(1), ceilDiv(maxSeqlen, launch.tile("BT")),
             cuSeqlens.numel() - 1);
  return y;
}

Tensor meta(const Tensor &x, const Tensor &, const Tensor &, const Tensor &,
            c10::SymInt, int64_t, bool) {
  return at::empty_symint(x.sym_sizes(), x.options());
}

using Rope = Tensor(const Tensor &, const Tensor &, const Tensor &,
                    const Tensor &, c10::SymInt, int64_t, bool);

// The gradient of a rotation is the inverse rotation. It is linear, so it can
// be differentiated again.
struct Function : torch::autograd::Function<Function> {
  static Tensor forward(AutogradContext *ctx, const Tensor &x,
                        const Tensor &cos, const Tensor &sin,
                        const Tensor &cuSeqlens, c10::SymInt maxSeqlen,
                        int64_t firstPosition, bool inverse) {
    at::AutoDispatchBelowADInplaceOrView below;
    static const auto op = findOp<Rope>("rope");
    ctx->save_for_backward({cos, sin, cuSeqlens});
    ctx->saved_data["max_seqlen"] = maxSeqlen;
    ctx->saved_data["first_position"] = firstPosition;
    ctx->saved_data["inverse"] = inverse;
    return op.call(x, cos, sin, cuSeqlens, maxSeqlen, firstPosition, inverse);
  }

  static variable_list backward(AutogradContext *ctx, variable_list grads) {
    static const auto op = findOp<Rope>("rope");
    const variable_list saved = ctx->get_saved_variables();
    Tensor dx = op.call(grads[0], saved[0], saved[1], saved[2],
                        ctx->saved_data["max_seqlen"].toSymInt(),
                        ctx->saved_data["first_position"].toInt(),
                        !ctx->saved_data["inverse"].toBool());
    return {dx, {}, {}, {}, {}, {}, {}};
  }
};

Tensor autograd(const Tensor &x, const Tensor &cos, const Tensor &sin,
                const Tensor &cuSeqlens, c10::SymInt maxSeqlen,
                int64_t firstPosition, bool inverse) {
  return Function::apply(x, cos, sin, cuSeqlens, maxSeqlen, firstPosition,
                         inverse);
}

TORCH_LIBRARY_IMPL(tessera, CompositeExplicitAutograd, m) {
  m.impl("rope_table", table);
}

TESSERA_AUTOGRAD_OP("rope", rotate, meta, autograd);

} // namespace rope_op
} // namespace
} // namespace tessera::runtime
