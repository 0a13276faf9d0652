// trainer/observe/SdpaComparison.cpp - times both attentions and prints a
// table.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "trainer/observe/SdpaComparison.h"

#include "support/Stopwatch.h"

#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>
#include <ATen/Parallel.h>
#include <algorithm>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace tessera::trainer {
namespace {

/// Returns the median time of up to five runs after a warm-up, which may
/// compile. Stops early after `budget` seconds.
double medianMilliseconds(const std::function<void()> &run, double budget) {
  const Stopwatch all;
  run();
  std::vector<double> times;
  do {
    const Stopwatch one;
    run();
    times.push_back(one.seconds() * 1e3);
  } while (times.size() < 5 && all.seconds() < budget);
  std::sort(times.begin(), times.end());
  return times[times.size() / 2];
}

constexpr int64_t lengths[] = {1024, 2048, 4096, 8192};

/// Sets PyTorch's number of threads during the object's lifetime.
class TorchThreads {
public:
  explicit TorchThreads(int64_t threads) : before(at::get_num_threads()) {
    at::set_num_threads(int(threads));
  }
  TorchThreads(const TorchThreads &) = delete;
  TorchThreads &operator=(const TorchThreads &) = delete;
  ~TorchThreads() { at::set_num_threads(before); }

private:
  const int before;
};

models::ModelConfig panelConfig() {
  models::ModelConfig config;
  config.heads = 8;
  config.kvHeads = 2;
  config.keyDim = config.valueDim = 64;
  config.nsa = {32, 16, 64, 16, 512};
  return config;
}

models::NsaInputs panelInputs(int64_t length) {
  at::Generator generator = at::detail::createCPUGenerator(1);
  const auto random = [&](int64_t heads, int64_t dim) {
    return at::randn({length, heads, dim}, generator);
  };
  return {random(8, 64),
          random(2, 64),
          random(2, 64),
          random(2, 64),
          random(2, 64),
          random(2, 64),
          random(2, 64),
          random(2, 3),
          {},
          {}};
}

} // namespace

std::vector<std::string> listPanel(models::Kernels &kernels, bool prepare) {
  const models::ModelConfig config = panelConfig();
  return kernels.listLaunches(
      [&] {
        const at::NoGradGuard noGrad;
        for (const int64_t length : lengths)
          kernels.nsaAttention(panelInputs(length), config,
                               models::Packing(1, length, config.nsa));
      },
      prepare);
}

nlohmann::json runPanel(models::Kernels &kernels, int64_t threads,
                        double budgetSeconds,
                        const std::function<void(const std::string &)> &say) {
  const at::NoGradGuard noGrad;
  const models::ModelConfig config = panelConfig();
  const Stopwatch all;
  nlohmann::json rows = nlohmann::json::array();
  say("attention forward on this CPU, one sequence, 8 heads of 64 in 2 groups "
      "(NSA: l=32 d=16 l'=64 n=16 w=512)");
  say(fmt::format("{:>8} {:>12} {:>12} {:>12}", "length", "NSA ms", "SDPA ms",
                  "SDPA/NSA"));
  double lastNsa = 0, lastSdpa = 0;
  for (const int64_t length : lengths) {
    const double left = budgetSeconds - all.seconds();
    // Estimates two runs of each from the previous length: NSA takes about
    // twice as long, dense attention four times.
    const double expected = 2e-3 * (2.5 * lastNsa + 4 * lastSdpa);
    if (left < expected || left <= 0) {
      say(fmt::format("{:>8} left out: the {:.0f} s of this panel are spent",
                      length, budgetSeconds));
      continue;
    }
    const models::Packing packing(1, length, config.nsa);
    const models::NsaInputs in = panelInputs(length);
    const auto heads = [](const at::Tensor &x) {
      return x.transpose(0, 1).contiguous().unsqueeze(0);
    };
    const at::Tensor q = heads(in.query), k = heads(in.keySel),
                     v = heads(in.valueSel);
    const double share = left / 6;
    {
      const TorchThreads all(threads);
      lastSdpa = medianMilliseconds(
          [&] {
            at::scaled_dot_product_attention(q, k, v, {}, 0.0, true,
                                             std::nullopt, true);
          },
          share);
    }
    lastNsa = medianMilliseconds(
        [&] { kernels.nsaAttention(in, config, packing); }, share);
    say(fmt::format("{:>8} {:>12.2f} {:>12.2f} {:>12.2f}", length, lastNsa,
                    lastSdpa, lastSdpa / lastNsa));
    rows.push_back({{"length", length},
                    {"nsa_ms", lastNsa},
                    {"sdpa_ms", lastSdpa},
                    {"sdpa_over_nsa", lastSdpa / lastNsa}});
  }
  return rows;
}

} // namespace tessera::trainer
