// language/pattern/Selection.h - the directives select(...) and streams(...) of
// a pattern: which blocks of keys each query keeps, and which streams of keys
// it attends to.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
//
//   # tessera: select(block=64, top=16, scope=q, local=1, score=pooled(mean))
//
//   block         tokens of a block, 1 to 128
//   top           blocks that each list holds, forced ones included
//   scope         the heads that share a list: all, kv (the query heads of a
//                 key/value head) or q (each query head by itself)
//   first, local  forced blocks: at the start, and up to the query's own
//   window        the last keys that a query also attends to; 0: no others
//   dense_below   sequences shorter than this attend to all keys
//   score         pooled(mean) or pooled(max): query times pooled key;
//                 compressed(l=32, d=16): NSA's sums of probabilities;
//                 indexer(heads=4, dim=64): learned projections
//
// A pattern with streams(...) has a pair of keys and values for each stream, in
// this order. Three forms exist:
//
//   streams(compressed, selected, window(512))
//       own softmax of each stream, summed with learned gates (Yuan et al.
//       2025); select(...) has the scorer compressed(...)
//   streams(compressed(l=128, d=128), window(128), joined)
//       one softmax over all compressed keys and a window
//   streams(selected(compressed(l=8, d=4)), window(128), joined)
//       one softmax over selected compressed keys and a window; select(...) has
//       block=1 and an indexer
//
// Compressed key i is the mean of the tokens i * d .. i * d + l - 1, and a
// query attends to it from its last token on.
#pragma once

#include "language/Tree.h"
#include "support/Diagnostics.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tessera::language {

enum class ListScope { All, KeyHead, QueryHead };
enum class Scorer { None, PooledMean, PooledMax, Compressed, Indexer };
// How a pattern's streams of keys are put together. One: a single stream.
enum class Streams { One, Gated, Joined };

// What is wrong, and the remedy.
using Problem = std::pair<std::string, std::string>;

struct Selection {
  int64_t block = 64, top = 16, first = 0, local = 1;
  int64_t window = 0, denseBelow = 0;
  ListScope scope = ListScope::KeyHead;
  Scorer scorer = Scorer::PooledMean;
  Streams streams = Streams::One;
  int64_t length = 32, stride = 16; // of compressed keys
  int64_t heads = 4, width = 64;    // of Scorer::Indexer
  // The kernels of attention are derived from the file's `sees` and `modify`.
  bool derived = false;

  // Returns the pairs of keys and values that attention takes: one for each
  // stream.
  int64_t pairs() const;
  // Returns the number of lists of a model: 1, `keyHeads` or `queryHeads`.
  int64_t lists(int64_t queryHeads, int64_t keyHeads) const;
  // Names that find() takes: those of the directive's integers.
  std::vector<std::string> names() const;
  // Returns the integer with the name; null if no integer has it.
  int64_t *find(std::string_view name);
  // Returns what is wrong with the values taken together.
  std::optional<Problem> problem() const;

private:
  std::optional<Problem> listProblem() const;
};

// Reads the keywords of the directive. Appends a diagnostic for each unknown
// name, a value of a wrong type or range and values that contradict each other.
Selection readSelection(const Call &directive, const SourceRange &range,
                        const std::shared_ptr<const SourceFile> &file,
                        std::vector<Diagnostic> &diagnostics);

// Reads the directive streams(...) into `to`, which holds the directive
// select(...) of the same pattern, or Scorer::None if there is none.
void readStreams(const Call &directive, const SourceRange &range,
                 const std::shared_ptr<const SourceFile> &file, Selection &to,
                 std::vector<Diagnostic> &diagnostics);

} // namespace tessera::language
