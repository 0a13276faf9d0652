// runtime/cache/Keys.h - the cache key of an artifact.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/Hash.h"

#include <string_view>

namespace tessera::runtime {

// Returns the cache key of an artifact. `requestKey` is
// language::CompileRequest::key; `buildId` identifies the compiler. A kernel
// with edited stages also contributes CompileRequest::overrideKey, so an
// unedited request never finds it. `assembler` is the version of ptxas that
// made the cubin; empty: without ptxas.
inline Sha256Digest artifactKey(std::string_view requestKey,
                                std::string_view buildId,
                                std::string_view overrideKey = {},
                                std::string_view assembler = {}) {
  Sha256 hash;
  hash.update("artifact\n").update(requestKey).update("\n").update(buildId);
  if (!overrideKey.empty())
    hash.update("\n").update(overrideKey);
  if (!assembler.empty())
    hash.update("\nptxas ").update(assembler);
  return hash.finish();
}

} // namespace tessera::runtime
