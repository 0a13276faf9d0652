// support/BuildId.h - which compiler this was built with.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace tessera {

// 64 hexadecimal digits: a hash of the sources of compiler/, dialect/ and
// codegen/ and of LLVM's version, made when tessera is built. Compiled kernels
// are keyed by it, so a change of the compiler never serves old code.
const char *compilerBuildId();

} // namespace tessera
