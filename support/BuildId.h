// support/BuildId.h - identifies the compiler of this build.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace tessera {

// Returns 64 hexadecimal digits: a hash of the sources of compiler/, dialect/
// and codegen/ and of LLVM's version, computed when tessera is built. It is
// part of every cache key, so a changed compiler never uses old code.
const char *compilerBuildId();

} // namespace tessera
