// runtime/launch/FindFile.h - where kernel files are.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>

namespace tessera::runtime {

// The absolute path of an existing file. "kernels/nsa/select_fwd.py" names one
// of our kernels: it is looked for in TESSERA_KERNELS, else in the folders
// `kernels` and `share/tessera/kernels` above this library and above the
// program, and last in the current folder; a different file there is warned of.
// Other relative paths are looked for in the current folder first. Throws Error
// with the folders that were tried.
std::string findKernelFile(const std::string &path);

// The same of a path that a user typed after a command: the current folder
// comes first, whatever its name.
std::string findTypedFile(const std::string &path);

// "kernels/nsa/select_fwd.py" of an existing file in a folder of our kernels,
// else empty.
std::string nameAmongOurs(const std::string &file);

// The first folder of that name, or of that name in share/tessera, above this
// library, else above the program; empty where there is none.
std::filesystem::path findFolder(const std::filesystem::path &name);

} // namespace tessera::runtime
