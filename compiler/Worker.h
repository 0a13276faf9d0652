// compiler/Worker.h - the main loop of the compiler worker process.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace tessera::compiler {

// Answers requests from workerRequestFd on workerReplyFd (support/Frames.h)
// until the other side closes. A request is the JSON of a CompileRequest, or
// {"hello": 1}, which is answered with {"build_id": ...}. A reply is two
// frames: the JSON of a CompileResult and the artifact; before it come frames
// that name the phase of the compilation. If an error inside LLVM is about to
// end the process, the worker sends a reply first.
//
// Returns the exit status: 0 after the other side closed, 1 after a broken
// frame.
int workerMain();

// Compiles a kernel in this process, loads it and runs it; prints the times on
// stdout. Returns the exit status.
int workerSelfTest();

} // namespace tessera::compiler
