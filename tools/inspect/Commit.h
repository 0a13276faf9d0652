// tools/inspect/Commit.h - a kernel as it is in a commit.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "language/Program.h"

#include <memory>
#include <string>

namespace tessera::tools {

// The kernel file and the kernel files that it imports as the commit (any name
// that git knows, such as HEAD~1) has them; `file` is absolute, in a work tree
// of git. Throws Error where git, the commit or the file in it is not there,
// and as Program::load does.
std::shared_ptr<const language::Program>
programOfCommit(const std::string &file, const std::string &commit);

} // namespace tessera::tools
