// runtime/launch/FindFile.h - searches for kernel files.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>

namespace tessera::runtime {

// Returns the absolute path of an existing file. "kernels/nsa/select_fwd.py"
// names a kernel of this build. It is searched in TESSERA_KERNELS, else in the
// folders `kernels` and `share/tessera/kernels` above this library and above
// the program, and last in the current folder. Warns if the current folder has
// a different file of that path. Other relative paths are searched in the
// current folder first. Throws Error with the folders that were searched.
std::string findKernelFile(const std::string &path);

// Like findKernelFile() for a path that a user typed in a command: searches
// every path in the current folder first.
std::string findTypedFile(const std::string &path);

// Returns "kernels/nsa/select_fwd.py" for an existing file in a kernel folder
// of this build, else an empty string.
std::string nameAmongOurs(const std::string &file);

// Returns the first folder of that name, or of that name in share/tessera,
// above this library, else above the program. Returns an empty path if none
// exists.
std::filesystem::path findFolder(const std::filesystem::path &name);

} // namespace tessera::runtime
