// trainer/GradientExchange.h - gradients are exchanged while others are still
// being computed. Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "trainer/AdamW.h"
#include "trainer/DataParallel.h"

namespace tessera::trainer {

/// Divides the gradients into buckets and averages each over the processes as
/// soon as the backward pass has all of it. The buckets go out in one order in
/// all processes, whatever the order their gradients come in.
class GradientExchange {
public:
  /// `parameters` are those of `optimizer`; hooks stay at them until this is
  /// destroyed. One process needs none and exchanges nothing.
  GradientExchange(std::vector<models::Parameter> &parameters, AdamW &optimizer,
                   DataParallel &parallel, int64_t bucketBytes);
  ~GradientExchange();
  GradientExchange(const GradientExchange &) = delete;
  GradientExchange &operator=(const GradientExchange &) = delete;

  /// The backward pass that comes next is the last one of a step.
  void beginLast();
  /// Sends what is left and waits: optimizer.gradients() are the means of all
  /// processes. Throws tessera::Error when another one has ended.
  void finish();
  /// Of the last step: buckets that went out before its backward pass was over.
  int64_t bucketsBeside() const { return beside; }
  int64_t bucketCount() const { return int64_t(buckets.size()); }

private:
  struct Bucket {
    int64_t begin, end; ///< Elements of optimizer.gradients().
    int64_t parts = 0;  ///< Parameters with elements in it.
    int64_t missing = 0;
  };
  void arrived(size_t parameter);
  /// Sends the buckets that are complete and next in order; all with `force`.
  void send(bool force);

  std::vector<models::Parameter> &parameters;
  AdamW &optimizer;
  DataParallel &parallel;
  std::vector<Bucket> buckets; ///< In the order they go out.
  std::vector<std::vector<size_t>> bucketsOf; ///< Of each parameter.
  bool last = false; ///< In the last backward pass of a step.
  size_t sent = 0;
  int64_t beside = 0;
};

} // namespace tessera::trainer
