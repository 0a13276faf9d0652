// trainer/parallel/GradientExchange.h - averages gradients over the processes
// while the backward pass still computes other gradients.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "trainer/optim/AdamW.h"
#include "trainer/parallel/DataParallel.h"

#include <set>

namespace tessera::trainer {

/// Divides the flat buffer of gradients into buckets; each contains complete
/// parameters. In the backward pass of the last micro-batch, the all-reduce of
/// a bucket starts when all its gradients are final:
///
///   backward pass | gradients 2 | gradients 1 | gradients 0 | finish()
///   all-reduce                  | bucket 2 |  | bucket 1 |  | bucket 0 |
///
/// The first step records the order in which buckets become complete. All
/// processes then use the order of process 0, as collectives must match.
class GradientExchange {
public:
  /// `parameters` are the parameters of `optimizer`. Adds a hook to each; the
  /// destructor removes them. A bucket has at most `bucketBytes`, or a single
  /// parameter that is larger. A run of one process adds no hooks and exchanges
  /// nothing.
  GradientExchange(std::vector<models::Parameter> &parameters, AdamW &optimizer,
                   DataParallel &parallel, int64_t bucketBytes);
  ~GradientExchange();
  GradientExchange(const GradientExchange &) = delete;
  GradientExchange &operator=(const GradientExchange &) = delete;

  /// Announces that the next backward pass is the last one of a step. Other
  /// backward passes send nothing: gradients add up locally.
  void beginLast();
  /// Sends the remaining buckets and waits for all. Afterwards
  /// optimizer.gradients() contains the means over all processes. Throws
  /// tessera::Error if another process has ended, or if a gradient changed
  /// after its bucket was sent.
  void finish();
  /// Returns the number of buckets that the last step sent during its backward
  /// pass.
  int64_t bucketsBeside() const { return beside; }
  int64_t bucketCount() const { return int64_t(buckets.size()); }

private:
  struct Bucket {
    int64_t begin, end; ///< Range [begin, end) of optimizer.gradients().
    std::vector<size_t> parameters; ///< Indices of its parameters.
    size_t missing = 0; ///< Parameters whose gradient is not final yet.
    bool sent = false;  ///< True if this step has sent the bucket.
  };
  void makeBuckets(int64_t bucketBytes);
  void arrived(size_t parameter);
  void learn(size_t parameter);
  void agreeOnOrder();
  /// Sends buckets in order up to the first incomplete one; with `force`, sends
  /// all that are left.
  void send(bool force);

  std::vector<models::Parameter> &parameters;
  AdamW &optimizer;
  DataParallel &parallel;
  std::vector<Bucket> buckets;
  std::vector<size_t> bucketOf; ///< Index of each parameter's bucket.
  std::vector<size_t> order; ///< Buckets in sending order; empty in step one.
  /// For each parameter: additions to its gradient in a backward pass (recorded
  /// in the first step), and additions that the current pass still owes.
  std::vector<int> arrivals, expected;
  std::vector<size_t> seen; ///< First step: buckets by their last addition.
  std::set<size_t> late;    ///< Parameters that changed after they were sent.
  bool last = false;        ///< True in the last backward pass of a step.
  size_t sent = 0;
  int64_t beside = 0;
};

} // namespace tessera::trainer
