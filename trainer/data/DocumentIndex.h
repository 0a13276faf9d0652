// trainer/data/DocumentIndex.h - where the documents of a file begin.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "trainer/data/RandomFile.h"
#include "trainer/data/TokenFile.h"

#include <cstdint>
#include <vector>

namespace tessera::trainer {

/// The first token of every document of a shard, ascending, the first 0.
/// Throws tessera::Error where its index says otherwise.
std::vector<int64_t> readDocumentIndex(const RandomFile &file,
                                       const TokenLayout &layout);

/// The first token of every document of any file; reads all tokens of one of
/// llm.c's, whose documents begin with layout.endToken.
std::vector<int64_t> documentStarts(const RandomFile &file,
                                    const TokenLayout &layout);

} // namespace tessera::trainer
