// runtime/launch/FindFile.cpp - where kernel files are.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "runtime/launch/FindFile.h"

#include "support/Error.h"
#include "support/Options.h"
#include "support/Process.h"

#include <filesystem>
#include <vector>

namespace tessera::runtime {

namespace fs = std::filesystem;

std::string findKernelFile(const std::string &given) {
  const fs::path path = given;
  std::error_code ignored;
  auto isFile = [&](const fs::path &candidate) {
    return fs::is_regular_file(candidate, ignored);
  };
  if (isFile(path))
    return fs::canonical(path).string();
  if (path.is_absolute())
    throw Error("no kernel file " + given, "check the path");

  fs::path inside;
  for (const fs::path &part : path)
    if (!(inside.empty() && part == "kernels"))
      inside /= part;
  std::vector<fs::path> folders;
  const std::string set = optionText(Option::Kernels);
  if (!set.empty()) {
    folders.push_back(set);
  } else {
    for (fs::path start :
         {executablePath(),
          libraryPath(reinterpret_cast<const void *>(&findKernelFile))})
      for (fs::path folder = start.parent_path();
           !folder.empty() && folder != folder.root_path();
           folder = folder.parent_path())
        folders.push_back(folder / "kernels");
  }
  for (const fs::path &folder : folders)
    if (isFile(folder / inside))
      return fs::canonical(folder / inside).string();
  throw Error(
      "no kernel file " + given +
          (set.empty()
               ? " in the current folder, nor in a folder `kernels` "
                 "above the program"
               : " in the current folder, nor in TESSERA_KERNELS=" + set),
      "set TESSERA_KERNELS to the folder that holds the kernel files");
}

} // namespace tessera::runtime
