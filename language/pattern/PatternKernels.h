// language/pattern/PatternKernels.h - the attention kernels of a pattern.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "language/Tree.h"
#include "support/Diagnostics.h"

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace tessera::language {

struct ExpandedPattern {
  // The file's own text, then the functions derived from it and the kernels
  // NAME, NAME_bwd_dq, NAME_bwd_dkdv, NAME_bwd, NAME_decode and NAME_ref, where
  // NAME is the file's name without its ending. A pattern with select(...) has
  // the kernels NAME_list, NAME_list_bwd_dq, NAME_list_bwd_dkdv and NAME_scores
  // if it has a `modify` or a `sees` other than `pos <= t`; if not, it has no
  // kernels: the torch ops of its scorer and tessera::selected_attention
  // compute it.
  std::string text;
  std::vector<Diagnostic> diagnostics; // errors; the text is then empty
};

// True if the text is a pattern whose kernels have not been written yet.
bool needsExpansion(std::string_view text);

// Returns the text of an expanded pattern as the text of a file that works
// instead of the pattern: messages name its lines as lines of that file.
std::string printedPattern(std::string text);

// Writes the kernels of a pattern. Lines of the file keep their numbers.
ExpandedPattern expandPattern(const std::shared_ptr<const SourceFile> &file);

} // namespace tessera::language
