// tools/inspect/Commit.h - reads a kernel file from a git commit.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "language/Program.h"

#include <memory>
#include <string>

namespace tessera::tools {

// Returns the program of the kernel file and of the kernel files that it
// imports, as of the commit (any name that git accepts, such as HEAD~1). `file`
// is absolute and in a git work tree. Throws Error if git, the commit or the
// file in it is missing, and as Program::load does.
std::shared_ptr<const language::Program>
programOfCommit(const std::string &file, const std::string &commit);

} // namespace tessera::tools
