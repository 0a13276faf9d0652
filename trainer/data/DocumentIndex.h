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

/// Returns the first token of every document of any file. A file of llm.c has
/// no index, so the function reads all tokens and searches for layout.endToken,
/// with which each document begins. Other files are one document.
std::vector<int64_t> documentStarts(const RandomFile &file,
                                    const TokenLayout &layout);

} // namespace tessera::trainer
