// models/ComparedKernels.cpp - runs operations by compiled kernels and by plain
// torch on the same inputs, and records the differences.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "models/ComparedKernels.h"

#include <ATen/ATen.h>
#include <algorithm>
#include <limits>

namespace tessera::models {
namespace {

at::Tensor plain(const at::Tensor &x) {
  return x.defined() ? x.detach().to(at::kCPU, at::kFloat) : x;
}

NsaInputs plain(const NsaInputs &in) {
  NsaInputs p = in;
  for (at::Tensor *t :
       {&p.query, &p.keyCmp, &p.valueCmp, &p.keySel, &p.valueSel, &p.keyWin,
        &p.valueWin, &p.gateLogits, &p.keyFilter, &p.valueFilter})
    *t = plain(*t);
  return p;
}

/// Returns the largest absolute difference divided by the largest absolute
/// value of `reference`; infinity if a difference is not finite.
double relative(const at::Tensor &found, const at::Tensor &reference) {
  if (reference.numel() == 0)
    return 0;
  const double difference = (found - reference).abs().max().item<double>();
  const double largest = reference.abs().max().item<double>();
  if (!(difference <= std::numeric_limits<double>::max()))
    return std::numeric_limits<double>::infinity();
  return largest > 0 ? difference / largest : difference;
}

/// Returns bool [Hkv, T]: true if the query has the same selected blocks in `a`
/// and `b`.
at::Tensor sameBlocks(const at::Tensor &a, const at::Tensor &b) {
  return (a.to(at::kCPU, at::kInt) == b.to(at::kCPU, at::kInt)).all(-1);
}

class ComparedKernels final : public Kernels {
public:
  ComparedKernels(Kernels &compiled, KernelDifferences &differences)
      : compiled(compiled), torch(makeTorchKernels()),
        differences(differences) {}

  at::Tensor rmsNorm(const at::Tensor &x, const at::Tensor &weight,
                     double epsilon) override {
    const at::Tensor y = compiled.rmsNorm(x, weight, epsilon);
    note("rmsnorm", y, torch->rmsNorm(plain(x), plain(weight), epsilon));
    return y;
  }

  std::pair<at::Tensor, at::Tensor> residualNorm(const at::Tensor &x,
                                                 const at::Tensor &added,
                                                 const at::Tensor &weight,
                                                 double epsilon) override {
    const auto [sum, y] = compiled.residualNorm(x, added, weight, epsilon);
    note("rmsnorm", sum, plain(x) + plain(added));
    note("rmsnorm", y, torch->rmsNorm(plain(sum), plain(weight), epsilon));
    return {sum, y};
  }

  at::Tensor linear(const at::Tensor &x, const at::Tensor &weight) override {
    return compiled.linear(x, weight);
  }

  at::Tensor linearLoss(const at::Tensor &hidden, const at::Tensor &weight,
                        const at::Tensor &targets, bool keepLogits) override {
    const at::Tensor losses =
        compiled.linearLoss(hidden, weight, targets, keepLogits);
    note("linear_loss", losses,
         torch->linearLoss(plain(hidden), plain(weight), targets.to(at::kCPU),
                           keepLogits));
    return losses;
  }

  at::Tensor activation(MlpKind kind, const at::Tensor &in,
                        const at::Tensor &gate) override {
    const at::Tensor y = compiled.activation(kind, in, gate);
    note("activation", y, torch->activation(kind, plain(in), plain(gate)));
    return y;
  }

  at::Tensor rope(const at::Tensor &x, const Packing &packing,
                  const Rope &positions) override {
    const at::Tensor y = compiled.rope(x, packing, positions);
    note("rope", y, torch->rope(plain(x), packing, positions));
    return y;
  }

  at::Tensor denseAttention(const at::Tensor &q, const at::Tensor &k,
                            const at::Tensor &v,
                            const Packing &packing) override {
    const at::Tensor o = compiled.denseAttention(q, k, v, packing);
    note("dense", o,
         torch->denseAttention(plain(q), plain(k), plain(v), packing));
    return o;
  }

  NsaResult nsaAttention(const NsaInputs &in, const ModelConfig &config,
                         const Packing &packing) override {
    NsaResult result;
    constexpr const char *names[] = {"cmp", "sel", "win", "nsa"};
    for (int branch = 0; branch < 4; ++branch) {
      NsaInputs one = in;
      if (branch < 3) {
        // The logits are so large that softmax and sigmoid return 0 or 1. So
        // the output is the output of one branch.
        const double far = 1e4 * config.gateTemperature;
        one.gateLogits = at::full_like(in.gateLogits, -far);
        one.gateLogits.select(2, branch).fill_(far);
      }
      result = compiled.nsaAttention(one, config, packing);
      const NsaResult reference =
          torch->nsaAttention(plain(one), config, packing);
      const bool selects = branch % 2 == 1 && result.indices.defined() &&
                           reference.indices.defined();
      noteAttention(names[branch], result, reference, selects);
    }
    return result;
  }

  at::Tensor customAttention(const at::Tensor &q, const at::Tensor &k,
                             const at::Tensor &v, const at::Tensor &learned,
                             const at::Tensor &perSequence,
                             const CustomAttention &custom,
                             const Packing &packing) override {
    return compiled.customAttention(q, k, v, learned, perSequence, custom,
                                    packing);
  }

  PatternResult patternAttention(const PatternInputs &in,
                                 const CustomAttention &custom,
                                 const Packing &packing) override {
    return compiled.patternAttention(in, custom, packing);
  }

private:
  void note(const char *name, const at::Tensor &found,
            const at::Tensor &reference) {
    noteFigure(name, relative(plain(found), reference));
  }
  void noteFigure(const char *name, double figure) {
    KernelDifference &d = differences[name];
    d.relative = std::max(d.relative, figure);
    ++d.calls;
  }
  void noteAttention(const char *name, const NsaResult &found,
                     const NsaResult &reference, bool selects) {
    if (!selects)
      return note(name, found.output, reference.output);
    const at::Tensor same = sameBlocks(found.indices, reference.indices);
    noteFigure("blocks", 1 - same.to(at::kDouble).mean().item<double>());
    const int64_t group = found.output.size(1) / same.size(0);
    const at::Tensor kept =
        same.t().repeat_interleave(group, 1).unsqueeze(-1); // [T, Hq, 1]
    note(name, at::where(kept, plain(found.output), reference.output),
         reference.output);
  }

  Kernels &compiled;
  std::unique_ptr<Kernels> torch;
  KernelDifferences &differences;
};

} // namespace

std::unique_ptr<Kernels> comparedKernels(Kernels &compiled,
                                         KernelDifferences &differences) {
  return std::make_unique<ComparedKernels>(compiled, differences);
}

} // namespace tessera::models
