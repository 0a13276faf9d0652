// models/Statistics.cpp - sums and extremes of gates and selections, first on
// the device, then over passes and layers on the host.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "models/Statistics.h"

#include "models/NsaRows.h"

#include <ATen/ATen.h>

namespace tessera::models {
namespace {

constexpr double collapsed = 0.9; ///< A larger share counts as a collapse.

/// A table [passes and layers, columns] on the host. The functions reduce a
/// column.
struct Rows {
  explicit Rows(at::Tensor table) : table(std::move(table)) {}
  double sum(int64_t i) const {
    return table.select(1, i).sum().item<double>();
  }
  double least(int64_t i) const {
    return table.select(1, i).min().item<double>();
  }
  double most(int64_t i) const {
    return table.select(1, i).max().item<double>();
  }
  at::Tensor table;
};

using Values = std::vector<std::pair<std::string, double>>;

void addGates(const Rows &gate, Values &all) {
  const double count = gate.sum(0);
  all.insert(all.end(), {{"gate_entropy_mean", gate.sum(1) / count},
                         {"gate_entropy_min", gate.least(2)},
                         {"gate_max_gate", gate.most(3)},
                         {"gate_collapse_frac", gate.sum(4) / count}});
  constexpr const char *names[] = {"cmp", "sel", "win"};
  for (int64_t i = 0; i < 3; ++i) {
    const std::string name = std::string("gate_share_") + names[i];
    all.emplace_back(name, gate.sum(5 + i) / count);
    all.emplace_back(name + "_min", gate.least(8 + i));
    all.emplace_back(name + "_max", gate.most(11 + i));
  }
}

void addSelections(const Rows &kept, Values &all) {
  const double rows = kept.sum(0);
  all.insert(all.end(), {{"sel_blocks_mean", kept.sum(1) / rows},
                         {"sel_blocks_min", kept.least(2)},
                         {"sel_blocks_max", kept.most(3)},
                         {"sel_rows", rows},
                         {"sel_pct_at_max", 100 * kept.sum(4) / rows}});
}

} // namespace

void Statistics::add(const at::Tensor &logits, const at::Tensor &indices,
                     const ModelConfig &config) {
  const at::NoGradGuard noGrad;
  const at::Tensor values =
      gateValues(logits.detach().to(at::kDouble), config, -1).reshape({-1, 3});
  constexpr double tiny = 1e-30;
  const at::Tensor share =
      values / values.sum(1, /*keepdim=*/true).clamp_min(tiny);
  const at::Tensor entropy = -(share * share.clamp_min(tiny).log()).sum(1);
  const at::Tensor largest = share.amax(1);
  const at::Tensor count =
      at::full({1}, double(share.size(0)), share.options());
  gates.push_back(
      at::cat({count, entropy.sum().view(1), entropy.min().view(1),
               largest.max().view(1), (largest > collapsed).sum().view(1),
               share.sum(0), share.amin(0), share.amax(0)}));
  if (!indices.defined())
    return;
  const at::Tensor kept = (indices >= 0).sum(-1).flatten().to(at::kDouble);
  selections.push_back(
      at::cat({at::full({1}, double(kept.size(0)), kept.options()),
               kept.sum().view(1), kept.min().view(1), kept.max().view(1),
               (kept == double(indices.size(-1))).sum().view(1)}));
}

void Statistics::addIndexLoss(const at::Tensor &loss) {
  indexLosses.push_back(loss.detach().to(at::kDouble).view({1}));
}

at::Tensor Statistics::sums() const {
  std::vector<at::Tensor> all;
  for (const auto *group : {&gates, &selections, &indexLosses})
    if (!group->empty())
      all.push_back(at::stack(*group).flatten());
  return all.empty() ? at::Tensor() : at::cat(all);
}

std::vector<std::pair<std::string, double>>
Statistics::values(const at::Tensor &together) const {
  std::vector<std::pair<std::string, double>> all;
  int64_t first = 0;
  const auto next = [&](const std::vector<at::Tensor> &group) {
    const int64_t columns = group.front().numel();
    const int64_t count = columns * int64_t(group.size());
    first += count;
    return Rows(together.narrow(0, first - count, count).view({-1, columns}));
  };
  if (!gates.empty())
    addGates(next(gates), all);
  if (!selections.empty())
    addSelections(next(selections), all);
  if (!indexLosses.empty())
    all.emplace_back("index_loss",
                     next(indexLosses).sum(0) / double(indexLosses.size()));
  return all;
}

} // namespace tessera::models
