// trainer/parallel/GradientExchange.cpp - autograd hooks that count gradients
// and send complete buckets in order.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "trainer/parallel/GradientExchange.h"

#include "support/Error.h"

#include <ATen/ATen.h>
#include <algorithm>
#include <fmt/format.h>
#include <functional>
#include <nlohmann/json.hpp>
#include <numeric>
#include <torch/csrc/autograd/function_hook.h>
#include <torch/csrc/autograd/variable.h>

namespace tessera::trainer {
namespace {

/// Autograd calls this after it has added a gradient to a parameter.
struct Arrival : torch::autograd::PostAccumulateGradHook {
  explicit Arrival(std::function<void()> tell) : tell(std::move(tell)) {}
  void operator()(const at::Tensor & /*parameter*/) override { tell(); }
  std::function<void()> tell;
};

} // namespace

GradientExchange::GradientExchange(std::vector<models::Parameter> &parameters,
                                   AdamW &optimizer, DataParallel &parallel,
                                   int64_t bucketBytes)
    : parameters(parameters), optimizer(optimizer), parallel(parallel) {
  if (parallel.size() == 1)
    return;
  makeBuckets(bucketBytes);
  arrivals.resize(parameters.size());
  for (size_t i = 0; i < parameters.size(); ++i)
    torch::autograd::impl::set_post_acc_grad_hooks(
        parameters[i].value,
        std::make_unique<Arrival>([this, i] { arrived(i); }));
}

GradientExchange::~GradientExchange() {
  if (!buckets.empty())
    for (models::Parameter &p : parameters)
      torch::autograd::impl::set_post_acc_grad_hooks(p.value, nullptr);
}

/// Parameters that are adjacent in the flat buffer share a bucket. The buffer
/// stores parameters without weight decay, most of them vectors, after the
/// others. They belong to all layers: a bucket with matrices and vectors would
/// be complete only at the end of the backward pass.
void GradientExchange::makeBuckets(int64_t bucketBytes) {
  std::vector<size_t> places(parameters.size());
  std::iota(places.begin(), places.end(), 0);
  std::sort(places.begin(), places.end(), [&](size_t a, size_t b) {
    return optimizer.rangeOf(a).first < optimizer.rangeOf(b).first;
  });
  const int64_t size =
      std::max<int64_t>(1, bucketBytes / optimizer.gradients().element_size());
  bucketOf.resize(parameters.size());
  for (const size_t i : places) {
    const auto [begin, end] = optimizer.rangeOf(i);
    const bool fits = !buckets.empty() && end - buckets.back().begin <= size &&
                      decays(parameters[i]) ==
                          decays(parameters[buckets.back().parameters[0]]);
    if (!fits)
      buckets.push_back({begin, end, {}});
    buckets.back().end = end;
    buckets.back().parameters.push_back(i);
    bucketOf[i] = buckets.size() - 1;
  }
}

void GradientExchange::beginLast() {
  last = !buckets.empty();
  sent = 0;
  beside = 0;
  expected = arrivals;
  for (Bucket &bucket : buckets) {
    bucket.sent = false;
    bucket.missing =
        size_t(std::count_if(bucket.parameters.begin(), bucket.parameters.end(),
                             [&](size_t i) { return arrivals[i] > 0; }));
  }
}

void GradientExchange::arrived(size_t parameter) {
  if (!last)
    return;
  optimizer.gather(parameter);
  if (order.empty())
    return learn(parameter);
  Bucket &bucket = buckets[bucketOf[parameter]];
  if (expected[parameter] == 0 || bucket.sent) {
    late.insert(parameter);
    return;
  }
  if (--expected[parameter] == 0)
    --bucket.missing;
  send(/*force=*/false);
}

void GradientExchange::learn(size_t parameter) {
  ++arrivals[parameter];
  std::erase(seen, bucketOf[parameter]);
  seen.push_back(bucketOf[parameter]);
}

/// Sets the order of process 0. Buckets without any gradient come last.
void GradientExchange::agreeOnOrder() {
  for (size_t b = 0; b < buckets.size(); ++b)
    if (std::find(seen.begin(), seen.end(), b) == seen.end())
      seen.push_back(b);
  order = nlohmann::json::parse(parallel.fromFirst(nlohmann::json(seen).dump()))
              .get<std::vector<size_t>>();
}

void GradientExchange::send(bool force) {
  for (; sent < order.size(); ++sent) {
    Bucket &bucket = buckets[order[sent]];
    if (!force && bucket.missing > 0)
      return;
    bucket.sent = true;
    parallel.beginAverage(
        optimizer.gradients().slice(0, bucket.begin, bucket.end));
    if (!force)
      ++beside;
  }
}

void GradientExchange::finish() {
  if (buckets.empty())
    return;
  last = false;
  if (order.empty())
    agreeOnOrder();
  send(/*force=*/true);
  parallel.finishAverages();
  if (!late.empty())
    throw Error(
        fmt::format("the gradient of {} was added to after it was sent to the "
                    "other processes: this step's backward pass is not that of "
                    "the first step",
                    parameters[*late.begin()].name),
        "a model whose operations change from step to step trains with one "
        "process");
}

} // namespace tessera::trainer
