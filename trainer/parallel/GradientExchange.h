// trainer/parallel/GradientExchange.h - gradients are averaged over the
// processes while the backward pass computes others.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "trainer/optim/AdamW.h"
#include "trainer/parallel/DataParallel.h"

#include <set>

namespace tessera::trainer {

/// Divides the flat gradients into buckets of whole parameters and starts the
/// all-reduce of each as soon as the last micro-batch's backward pass has all
/// of it. The first step learns the order in which buckets become complete; all
/// processes send them in the order of process 0 from then on.
class GradientExchange {
public:
  /// `parameters` are those of `optimizer`; hooks stay at them until this is
  /// destroyed. A bucket has about `bucketBytes`, and one parameter at least.
  /// One process needs no hooks and exchanges nothing.
  GradientExchange(std::vector<models::Parameter> &parameters, AdamW &optimizer,
                   DataParallel &parallel, int64_t bucketBytes);
  ~GradientExchange();
  GradientExchange(const GradientExchange &) = delete;
  GradientExchange &operator=(const GradientExchange &) = delete;

  /// The backward pass that comes next is the last one of a step. Without this
  /// call a backward pass sends nothing: gradients add up locally.
  void beginLast();
  /// Sends what is left and waits: optimizer.gradients() are the means over all
  /// processes then. Throws tessera::Error when another process has ended, or
  /// when a gradient changed after it was sent.
  void finish();
  /// Of the last step: buckets sent before its backward pass was over.
  int64_t bucketsBeside() const { return beside; }
  int64_t bucketCount() const { return int64_t(buckets.size()); }

private:
  struct Bucket {
    int64_t begin, end;             ///< Elements of optimizer.gradients().
    std::vector<size_t> parameters; ///< That lie in it.
    size_t missing = 0;             ///< Of them.
    bool sent = false;              ///< In this step.
  };
  void makeBuckets(int64_t bucketBytes);
  void arrived(size_t parameter);
  void learn(size_t parameter);
  void agreeOnOrder();
  /// Sends the buckets that are complete and next in order; all with `force`.
  void send(bool force);

  std::vector<models::Parameter> &parameters;
  AdamW &optimizer;
  DataParallel &parallel;
  std::vector<Bucket> buckets;
  std::vector<size_t> bucketOf; ///< Of each parameter.
  std::vector<size_t> order;    ///< Of buckets; empty until it is learned.
  /// How often a backward pass adds to a parameter, and how often this one
  /// still will.
  std::vector<int> arrivals, expected;
  std::vector<size_t> seen; ///< Buckets by their last arrival, while learning.
  std::set<size_t> late;    ///< Parameters that changed after they were sent.
  bool last = false;        ///< In the last backward pass of a step.
  size_t sent = 0;
  int64_t beside = 0;
};

} // namespace tessera::trainer
