// trainer/GradientExchange.cpp - hooks behind each gradient, buckets in order.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "trainer/GradientExchange.h"

#include <ATen/ATen.h>
#include <algorithm>
#include <functional>
#include <torch/csrc/autograd/function_hook.h>
#include <torch/csrc/autograd/variable.h>

namespace tessera::trainer {
namespace {

/// What autograd calls when it has added all gradients of a pass to a
/// parameter.
struct Arrival : torch::autograd::PostAccumulateGradHook {
  explicit Arrival(std::function<void()> tell) : tell(std::move(tell)) {}
  void operator()(const at::Tensor &) override { tell(); }
  std::function<void()> tell;
};

} // namespace

GradientExchange::GradientExchange(std::vector<models::Parameter> &parameters,
                                   AdamW &optimizer, DataParallel &parallel,
                                   int64_t bucketBytes)
    : parameters(parameters), optimizer(optimizer), parallel(parallel),
      bucketsOf(parameters.size()) {
  if (parallel.size() == 1)
    return;
  const at::Tensor &all = optimizer.gradients();
  const int64_t size = std::max<int64_t>(1, bucketBytes / all.element_size());
  for (int64_t begin = 0; begin < all.size(0); begin += size)
    buckets.push_back({begin, std::min(begin + size, all.size(0))});
  // Later layers have their gradients first, and stand later in the buffer.
  std::reverse(buckets.begin(), buckets.end());
  for (size_t i = 0; i < parameters.size(); ++i) {
    const auto [begin, end] = optimizer.rangeOf(i);
    for (size_t b = 0; b < buckets.size(); ++b)
      if (begin < buckets[b].end && buckets[b].begin < end) {
        bucketsOf[i].push_back(b);
        ++buckets[b].parts;
      }
    torch::autograd::impl::set_post_acc_grad_hooks(
        parameters[i].value,
        std::make_unique<Arrival>([this, i] { arrived(i); }));
  }
}

GradientExchange::~GradientExchange() {
  if (!buckets.empty())
    for (models::Parameter &p : parameters)
      torch::autograd::impl::set_post_acc_grad_hooks(p.value, nullptr);
}

void GradientExchange::beginLast() {
  last = !buckets.empty();
  sent = 0;
  beside = 0;
  for (Bucket &bucket : buckets)
    bucket.missing = bucket.parts;
}

void GradientExchange::arrived(size_t parameter) {
  if (!last)
    return;
  optimizer.gather(parameter);
  for (const size_t b : bucketsOf[parameter])
    --buckets[b].missing;
  send(/*force=*/false);
}

void GradientExchange::send(bool force) {
  for (; sent < buckets.size() && (force || buckets[sent].missing == 0); ++sent) {
    const Bucket &bucket = buckets[sent];
    parallel.beginAverage(
        optimizer.gradients().slice(0, bucket.begin, bucket.end));
    beside += !force;
  }
}

void GradientExchange::finish() {
  if (buckets.empty())
    return;
  // Of parameters that the pass did not reach.
  optimizer.gather();
  last = false;
  send(/*force=*/true);
  parallel.finishAverages();
}

} // namespace tessera::trainer
