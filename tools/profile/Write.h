// tools/profile/Write.h - writes a trace and its pages to a folder.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tools/profile/TracedRun.h"

#include <filesystem>
#include <string>
#include <vector>

namespace tessera::tools {

// A folder that gets its name when it is complete. Until then its files are in
// a temporary folder with the same parent, which the destructor removes.
class NewFolder {
public:
  // Throws Error if the name exists or the folder cannot be created.
  explicit NewFolder(const std::filesystem::path &name);
  NewFolder(const NewFolder &) = delete;
  ~NewFolder();
  const std::filesystem::path &path() const { return building; }
  void finish();

private:
  std::filesystem::path name, building;
};

// The page of one kind of launch.
struct KernelLink {
  std::string page;     // "kernels/rope.html"; empty: missing
  std::string why;      // reason for a missing page
  std::string file;     // of the kernel
  Json ran, configured; // requests: of the launch, and of the page
};

// Writes the pages kernels/NAME.html of all kinds of launches in `kernels`
// (RunTrace) to the folder, with a line of progress. A page shows the kernel
// for the GPU on which it ran, or else for the target for which it was listed;
// with `listedTarget` always for the latter. Throws Error when interrupted.
std::vector<KernelLink> writeKernelPages(const Json &kernels, bool listedTarget,
                                         const std::filesystem::path &folder);

// Returns trace.json: the trace with "page" and "page_target" added to the
// arguments of each launch.
std::string linkedTrace(Json trace, const std::vector<KernelLink> &links);

// Returns the data of index.html: summaryOf(), with "page", "why", "file" and
// "shown" (the configuration of the page, as text) for each kernel, and `about`
// as "run".
Json indexJson(const Json &trace, const std::vector<KernelLink> &links,
               const Json &about);
std::string indexPage(const Json &data);

// Return the files of tools/profile, embedded at build time.
std::string profileBody();
std::string profileScript();
std::string profileStyle();

} // namespace tessera::tools
