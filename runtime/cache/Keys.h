// runtime/cache/Keys.h - the key that an artifact is kept under.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/Hash.h"

#include <string_view>

namespace tessera::runtime {

// From the request key (syntax::CompileRequest::key), the build id of the
// compiler that serves the request and, for a kernel with edited stages,
// CompileRequest::overrideKey: without them it is never found.
inline Sha256Digest artifactKey(std::string_view requestKey,
                                std::string_view buildId,
                                std::string_view overrideKey = {}) {
  Sha256 hash;
  hash.update("artifact\n").update(requestKey).update("\n").update(buildId);
  if (!overrideKey.empty())
    hash.update("\n").update(overrideKey);
  return hash.finish();
}

} // namespace tessera::runtime
