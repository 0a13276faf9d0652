// runtime/cache/Keys.h - the key that an artifact is kept under.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/Hash.h"

#include <string_view>

namespace tessera::runtime {

// From the request key (language::CompileRequest::key), the build id of the
// compiler that serves the request and, for a kernel with edited stages,
// CompileRequest::overrideKey: without them it is never found. `assembler` is
// the version of the ptxas that made a cubin; empty: there is none.
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
