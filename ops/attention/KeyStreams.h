// ops/attention/KeyStreams.h - one softmax over several streams of keys:
// selected blocks, a window, and keys of a second tensor.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ops/attention/Branches.h"

namespace tessera::runtime {

// Arguments of tessera::selected_attention after k and v.
struct StreamArguments {
  at::Tensor cuSeqlens;
  int64_t maxSeqlen;
  at::Tensor indices;
  int64_t block, window;
  std::optional<at::Tensor> sink, extraK, extraV, extraCu;
  int64_t extraLength, extraStride;
  std::optional<double> scale;
};

// Checked arguments. Each stream is a separate kernel pass with its own output
// and lse; one launch merges them. In the backward pass the kernels of each
// stream receive the joint lse and delta, so they compute the gradients of the
// joint softmax.
struct KeyStreams {
  Attention attention; // of k and v, all heads of a key head in a group
  // The selected stream; its attention has a key head per list. It excludes the
  // keys of the window, which the window's stream contains.
  Attention listed;
  Selection selection;
  int64_t window;
  std::optional<at::Tensor> sink; // fp32 [Hq]
  Attention extra;                // of the second stream
  at::Tensor extraCu;             // undefined without one
  int64_t extraLength, extraStride;

  bool selects() const;
  bool hasExtra() const;
  int count() const; // of streams that may have a key
};

// Throws c10::ValueError for arguments that do not fit together.
KeyStreams checkStreams(const char *op, const at::Tensor &q,
                        const at::Tensor &k, const at::Tensor &v,
                        const StreamArguments &arguments);

// Returns the op's results (o, lse [Hq, T]).
std::tuple<at::Tensor, at::Tensor> streamsForward(const KeyStreams &streams);

// The gradients. Those of sink, extraK and extraV are undefined if the argument
// is missing.
struct StreamGradients {
  at::Tensor q, k, v, sink, extraK, extraV;
};
StreamGradients streamsBackward(const KeyStreams &streams,
                                const at::Tensor &gradO,
                                const std::optional<at::Tensor> &gradLse,
                                const at::Tensor &o, const at::Tensor &lse);

} // namespace tessera::runtime
