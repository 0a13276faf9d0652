// runtime/launch/FindFile.cpp - where kernel files are.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "runtime/launch/FindFile.h"

#include "language/Program.h"
#include "support/ArgumentError.h"
#include "support/File.h"
#include "support/Lists.h"
#include "support/Log.h"
#include "support/Names.h"
#include "support/Options.h"
#include "support/Process.h"
#include "support/Trust.h"

#include <filesystem>
#include <set>
#include <vector>

namespace tessera::runtime {

namespace fs = std::filesystem;

namespace {

// Folder of an installation that holds the files of a checkout's root.
const char *const sharedData = "share/tessera";

// Returns the paths of this library and the program. The library comes first,
// because the program may be Python, installed anywhere.
std::vector<fs::path> ourFiles() {
  fs::path library =
      libraryPath(reinterpret_cast<const void *>(&findKernelFile));
  fs::path program = executablePath();
  if (library == program)
    return {program};
  return {std::move(library), std::move(program)};
}

// Returns NAME in every folder above these files, with the path of a checkout
// and the path of an installation.
std::vector<fs::path> foldersAbove(const fs::path &name) {
  std::vector<fs::path> folders;
  for (const fs::path &start : ourFiles())
    for (fs::path folder = start.parent_path();
         !folder.empty() && folder != folder.root_path();
         folder = folder.parent_path()) {
      folders.push_back(folder / name);
      folders.push_back(folder / sharedData / name);
    }
  return folders;
}

// Returns the kernel folders of this build in search order.
std::vector<fs::path> kernelFolders() {
  if (const std::string set = optionText(Option::Kernels); !set.empty())
    return {set};
  return foldersAbove("kernels");
}

// Returns a context that trusts users who can change this library.
TrustedContext ofOurLibrary() {
  return TrustedContext::of(
      libraryPath(reinterpret_cast<const void *>(&findKernelFile)));
}

// Checks that a found file is trusted. A kernel becomes native code of this
// process, and folders above the library may be as open as /tmp.
fs::path requireOwn(const fs::path &file) {
  requireTrusted(file, "the kernel file " + file.string(), ofOurLibrary());
  return fs::canonical(file);
}

// Returns the file in a kernel folder of this build, or an empty path.
fs::path findOurs(const fs::path &inside) {
  // The user chose the folder of TESSERA_KERNELS.
  const bool chosen = !optionText(Option::Kernels).empty();
  for (const fs::path &folder : kernelFolders())
    if (isFile(folder / inside))
      return chosen ? fs::canonical(folder / inside)
                    : requireOwn(folder / inside);
  return {};
}

// Lets kernel files outside of the kernel folders import from them.
void shareKernels() {
  static const bool shared = [] {
    language::setKernelLibrary([](const std::string &file) {
      return findOurs(fs::path(file).lexically_relative("kernels")).string();
    });
    return true;
  }();
  (void)shared;
}

// Warns if the current folder has a different file of that name: a user may run
// the build of one checkout in another checkout.
void warnOfAnother(const fs::path &used, const fs::path &here) {
  std::error_code ignored;
  if (!isFile(here) || fs::equivalent(used, here, ignored) ||
      tryReadFile(used) == tryReadFile(here))
    return;
  warnOnce(here.string(),
           "kernels come from " + used.string() +
               "; the other file of that name in the current folder is not "
               "used (TESSERA_KERNELS names the folder to take)");
}

// Fails if the path exists and is not a file, or if its folder has a kernel
// file of a similar name.
void failIfNear(const fs::path &path) {
  std::error_code ignored;
  const std::string given = path.string();
  if (fs::is_directory(path, ignored))
    throw ArgumentError(given + " is a folder",
                        "name a kernel file inside the folder");
  if (fs::is_symlink(path, ignored) && !fs::exists(path, ignored))
    throw ArgumentError("the link " + given + " points to a file that does " +
                            "not exist",
                        "correct the link, or name the file itself");
  if (fs::exists(path, ignored))
    throw ArgumentError(given + " is not a regular file",
                        "name a kernel file (.py)");
  std::vector<std::string> names;
  const fs::path parent = path.parent_path();
  for (const auto &entry :
       fs::directory_iterator(parent.empty() ? "." : parent, ignored))
    if (entry.path().extension() == ".py")
      names.push_back(entry.path().filename().string());
  const std::string name = path.filename().string();
  std::string near = nearestName(name, names);
  if (near.empty() && isListed(names, name + ".py"))
    near = name + ".py";
  if (!near.empty())
    throw ArgumentError("no kernel file " + given,
                        "did you mean " + (parent / near).string() + "?");
}

// Fails for a name "kernels/..." if TESSERA_KERNELS is not set.
[[noreturn]] void failToFindOurs(const std::string &given) {
  std::error_code ignored;
  const std::string here =
      ", nor in the current folder " + fs::current_path(ignored).string();
  std::string folders, above;
  std::set<fs::path> seen;
  for (const fs::path &folder : kernelFolders())
    if (fs::is_directory(folder, ignored) && seen.insert(folder).second)
      folders += (folders.empty() ? "" : ", ") + folder.string();
  if (!folders.empty())
    throw ArgumentError(
        "no kernel file " + given + " in " + folders + here,
        "check the name; TESSERA_KERNELS names another folder of "
        "kernel files");
  for (const fs::path &file : ourFiles())
    above += (above.empty() ? "" : " or ") + file.string();
  throw ArgumentError(
      "no kernel file " + given + ": no folder `kernels` or `" + sharedData +
          "/kernels` above " + above + here,
      "install the kernels next to the library (cmake --install does), "
      "or set TESSERA_KERNELS to the folder that holds them");
}

} // namespace

std::string findKernelFile(const std::string &given) {
  shareKernels();
  const fs::path path = given;
  if (path.is_absolute()) {
    if (isFile(path))
      return fs::canonical(path).string();
    failIfNear(path);
    throw ArgumentError("no kernel file " + given, "check the path");
  }
  const bool nameOfOurs = !path.empty() && *path.begin() == "kernels";
  fs::path inside;
  for (const fs::path &part : path)
    if (!(inside.empty() && part == "kernels"))
      inside /= part;
  if (!nameOfOurs && isFile(path))
    return fs::canonical(path).string();
  if (const fs::path ours = findOurs(inside); !ours.empty()) {
    warnOfAnother(ours, path);
    return ours.string();
  }
  if (isFile(path))
    return requireOwn(path).string();
  failIfNear(path);
  const std::string set = optionText(Option::Kernels);
  if (nameOfOurs && set.empty())
    failToFindOurs(given);
  throw ArgumentError(
      "no kernel file " + given +
          (set.empty()
               ? " in the current folder, nor in a folder `kernels` "
                 "above the program"
               : " in the current folder, nor in TESSERA_KERNELS=" + set),
      "set TESSERA_KERNELS to the folder that holds the kernel files");
}

fs::path findFolder(const fs::path &name) {
  std::error_code ignored;
  for (const fs::path &folder : foldersAbove(name))
    if (fs::is_directory(folder, ignored) &&
        !findDistrust(folder, ofOurLibrary()))
      return folder;
  return {};
}

std::string nameAmongOurs(const std::string &file) {
  std::error_code ignored;
  const fs::path path = fs::weakly_canonical(file, ignored);
  for (const fs::path &given : kernelFolders()) {
    const fs::path inside =
        path.lexically_relative(fs::weakly_canonical(given, ignored));
    if (!inside.empty() && *inside.begin() != ".." && inside != ".")
      return ("kernels" / inside).generic_string();
  }
  return "";
}

std::string findTypedFile(const std::string &path) {
  shareKernels();
  return isFile(path) ? fs::canonical(path).string() : findKernelFile(path);
}

} // namespace tessera::runtime
