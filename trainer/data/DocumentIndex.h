// trainer/data/DocumentIndex.h - finds the starts of a file's documents.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "trainer/data/RandomFile.h"
#include "trainer/data/TokenFile.h"

#include <cstdint>
#include <vector>

namespace tessera::trainer {

/// Returns the first token of every document of a shard. Throws tessera::Error
/// unless the index begins at 0 and ascends.
std::vector<int64_t> readDocumentIndex(const RandomFile &file,
                                       const TokenLayout &layout);

/// The first token of every document of any file; reads all tokens of one of
/// llm.c's, whose documents begin with layout.endToken.
std::vector<int64_t> documentStarts(const RandomFile &file,
                                    const TokenLayout &layout);

} // namespace tessera::trainer
