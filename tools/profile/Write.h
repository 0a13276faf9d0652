// tools/profile/Write.h - a trace with its pages as a folder.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tools/profile/TracedRun.h"

#include <filesystem>
#include <string>
#include <vector>

namespace tessera::tools {

// A folder that appears under its name when it is whole: until then its files
// are in one beside it, which goes with the object.
class NewFolder {
public:
  // Throws Error where there is something of that name, or no place for it.
  explicit NewFolder(const std::filesystem::path &name);
  NewFolder(const NewFolder &) = delete;
  ~NewFolder();
  const std::filesystem::path &path() const { return building; }
  void finish();

private:
  std::filesystem::path name, building;
};

// How a kind of launch is shown.
struct KernelLink {
  std::string page;     // "kernels/rope.html"; empty: there is none
  std::string why;      // there is none
  std::string file;     // of the kernel
  Json ran, configured; // requests: of the launch, and of the page
};

// Writes the pages kernels/NAME.html of all kinds of launches of `kernels`
// (RunTrace) into the folder: for the GPU they ran on, else for the target that
// they were listed for, or always for the latter where `listedTarget`. With a
// line of progress. Throws Error when interrupted.
std::vector<KernelLink> writeKernelPages(const Json &kernels, bool listedTarget,
                                         const std::filesystem::path &folder);

// trace.json: the trace, each launch with "page" and "page_target" among its
// arguments.
std::string linkedTrace(Json trace, const std::vector<KernelLink> &links);

// What the page index.html shows: summaryOf(), each of its kernels with "page",
// "why", "file" and "shown" (the configuration of the page, as text), and
// `about` under "run".
Json indexJson(const Json &trace, const std::vector<KernelLink> &links,
               const Json &about);
std::string indexPage(const Json &data);

// The files of tools/profile, embedded at build time.
std::string profileBody();
std::string profileScript();
std::string profileStyle();

} // namespace tessera::tools
