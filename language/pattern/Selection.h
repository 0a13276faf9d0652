// language/pattern/Selection.h - the directive select(...) of a pattern: which
// blocks of keys each query keeps.
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
#pragma once

#include "language/Tree.h"
#include "support/Diagnostics.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tessera::language {

enum class ListScope { All, KeyHead, QueryHead };
enum class Scorer { PooledMean, PooledMax, Compressed, Indexer };

struct Selection {
  int64_t block = 64, top = 16, first = 0, local = 1;
  int64_t window = 0, denseBelow = 0;
  ListScope scope = ListScope::KeyHead;
  Scorer scorer = Scorer::PooledMean;
  int64_t length = 32, stride = 16; // of Scorer::Compressed
  int64_t heads = 4, width = 64;    // of Scorer::Indexer

  // Returns the number of lists of a model: 1, `keyHeads` or `queryHeads`.
  int64_t lists(int64_t queryHeads, int64_t keyHeads) const;
  // Names that find() takes: those of the directive's integers.
  std::vector<std::string> names() const;
  // Returns the integer with the name; null if there is no such integer.
  int64_t *find(std::string_view name);
  // Returns what is wrong with the values taken together, and the remedy.
  std::optional<std::pair<std::string, std::string>> problem() const;
};

// Reads the keywords of the directive. Appends a diagnostic for each unknown
// name, a value of a wrong type or range and values that contradict each other.
Selection readSelection(const Call &directive, const SourceRange &range,
                        const std::shared_ptr<const SourceFile> &file,
                        std::vector<Diagnostic> &diagnostics);

} // namespace tessera::language
