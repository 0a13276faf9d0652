// models/Cache.h - the key/value cache of a model, for decoding.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/ModelConfig.h"

#include <ATen/core/Tensor.h>
#include <cstdint>
#include <vector>

namespace tessera::models {

/// Number of keys that queries have read, summed over layers, sequences, key
/// heads and queries (nsa.md REQ-17).
struct Reads {
  int64_t compressed = 0, selected = 0, window = 0;
  /// The number predicted from the sizes: all compressed keys, n blocks of l'
  /// tokens, and the window (w tokens, or all if fewer exist).
  int64_t predicted = 0;

  int64_t total() const { return compressed + selected + window; }
};

/// Keys and values of one layer.
struct CacheLayer {
  /// NSA: selection branch and window branch. Joined streams: both streams.
  /// Other attention uses only the first pair.
  at::Tensor keys[2], values[2];
  at::Tensor keyCmp, valueCmp; ///< [B, Hkv, compressed keys, d]
  /// Keys and values of the tokens from the start of the next compressed key.
  at::Tensor keyRaw, valueRaw;
  /// Keys of a learned indexer, [B, capacity, width]; undefined before its
  /// first token.
  at::Tensor indexKeys;
};

/// True if every layer of a model can continue from a cache. Layers with
/// kernels of a file that is not a pattern cannot.
bool hasCache(const ModelConfig &config);

/// Keys and values of sequences of one length, by layer. Allocates memory for
/// `capacity` tokens at once. The key heads of all sequences are stored
/// together: [B, Hkv, capacity, d].
class Cache {
public:
  /// `perSequence` is ForwardOptions::perSequence of these sequences.
  Cache(const ModelConfig &config, int64_t sequences, int64_t capacity,
        at::Tensor perSequence = {});

  int64_t sequences() const { return count; }
  int64_t length() const { return tokens; } ///< Tokens read so far.
  int64_t capacity() const { return most; }
  const Reads &reads() const { return seen; }

private:
  friend class Transformer;
  std::vector<CacheLayer> layers;
  at::Tensor text; ///< The tokens read so far, int64 [B, capacity].
  at::Tensor perSequence;
  int64_t count, most, tokens = 0;
  Reads seen;
};

} // namespace tessera::models
