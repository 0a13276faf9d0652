// tools/profile/Write.cpp - writes a trace and its pages to a folder.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "tools/profile/Write.h"

#include "runtime/compile/CompileService.h"
#include "runtime/launch/FindFile.h"
#include "support/Error.h"
#include "support/File.h"
#include "support/GpuTarget.h"
#include "support/Progress.h"
#include "tools/inspect/KernelPage.h"
#include "tools/inspect/Page.h"
#include "tools/profile/Summary.h"

#include <algorithm>
#include <map>
#include <thread>
#include <unistd.h>

namespace tessera::tools {

namespace fs = std::filesystem;
using language::CompileRequest;

NewFolder::NewFolder(const fs::path &given) : name(given.lexically_normal()) {
  if (!name.has_filename())
    name = name.parent_path(); // "profile/"
  std::error_code error;
  if (fs::exists(fs::symlink_status(name, error)))
    throw Error(name.string() + " is there already",
                "name another folder with -o, or remove it: rm -r " +
                    name.string());
  const fs::path made = name.string() + ".tmp-" + std::to_string(::getpid());
  fs::remove_all(made, error); // left by a process that was killed
  if (!fs::create_directories(made, error) || error)
    throw Error("cannot make the folder " + name.string() + ": " +
                    error.message(),
                "name a folder that can be written with -o");
  building = made;
}

NewFolder::~NewFolder() {
  std::error_code error;
  if (!building.empty())
    fs::remove_all(building, error);
}

void NewFolder::finish() {
  std::error_code error;
  fs::rename(building, name, error);
  if (error)
    throw Error("cannot rename " + building.string() + " to " + name.string() +
                    ": " + error.message(),
                "name another folder with -o");
  building.clear();
}

namespace {

// A page under construction.
struct Wanted {
  CompileRequest request;
  std::string page;
  std::vector<size_t> links; // that lead to it
};

std::string configurationText(const CompileRequest &request) {
  const std::string tiles = runtime::describeConfiguration(request);
  return tiles + (tiles.empty() ? "" : " ") +
         "num_warps=" + std::to_string(request.options.numWarps) +
         " num_stages=" + std::to_string(request.options.numStages);
}

// Assigns pages. Different requests get separate pages: rope, rope-2.
std::vector<Wanted> wantedPages(const Json &kernels, bool listedTarget,
                                std::vector<KernelLink> &links) {
  std::vector<Wanted> wanted;
  std::map<std::string, size_t> byKey;
  std::map<std::string, int> named;
  for (const Json &kind : kernels) {
    KernelLink link;
    link.ran = kind.at("ran");
    const std::string file = link.ran.at("file");
    link.file = runtime::nameAmongOurs(file);
    if (link.file.empty())
      link.file = file;
    const bool onGpu =
        GpuTarget::looksLike(link.ran.at("target").get<std::string>());
    const Json &shown = kind.at(onGpu && !listedTarget ? "ran" : "for_target");
    if (shown.contains("error")) {
      link.why = shown.at("error").get<std::string>();
      links.push_back(std::move(link));
      continue;
    }
    link.configured = shown;
    CompileRequest request = CompileRequest::fromJson(shown.dump());
    const std::string key = request.target + request.key();
    const auto [at, isNew] = byKey.try_emplace(key, wanted.size());
    if (isNew) {
      const int number = ++named[request.kernel];
      std::string name = request.kernel;
      if (number > 1)
        name += "-" + std::to_string(number);
      wanted.push_back({std::move(request), "kernels/" + name + ".html", {}});
    }
    wanted[at->second].links.push_back(links.size());
    links.push_back(std::move(link));
  }
  return wanted;
}

// Returns the error of a kernel that does not compile for the target, in one
// line.
std::string oneLine(const std::string &text) {
  const size_t at = text.find("error: ");
  const size_t from = at == std::string::npos ? 0 : at + 7;
  return text.substr(from, text.find('\n', from) - from);
}

// Writes a page. Returns the reason if it cannot, else an empty string.
std::string writePage(const Wanted &page, bool machine,
                      const fs::path &folder) {
  const std::string title = page.page.substr(8, page.page.size() - 13);
  try {
    const Configuration side = compileForPage(title, page.request, machine);
    writeFile(folder / page.page, kernelPage({side}));
    return {};
  } catch (const Error &error) {
    return oneLine(error.what());
  }
}

} // namespace

std::vector<KernelLink> writeKernelPages(const Json &kernels, bool listedTarget,
                                         const fs::path &folder) {
  std::vector<KernelLink> links;
  const std::vector<Wanted> wanted = wantedPages(kernels, listedTarget, links);
  const bool machine = !wanted.empty() && hasMachineCode();
  fs::create_directories(folder / "kernels");
  Progress progress;
  const size_t atOnce = std::max(1u, std::thread::hardware_concurrency());
  for (size_t done = 0; done < wanted.size(); done += atOnce) {
    throwIfInterrupted();
    if (progress.due())
      progress.show("profile: page " + std::to_string(done + 1) + " of " +
                    std::to_string(wanted.size()) +
                    progress.timeLeft(done, wanted.size()));
    const size_t end = std::min(done + atOnce, wanted.size());
    // Writes several pages in parallel. The links below receive the reason of a
    // failure.
    std::vector<std::thread> threads;
    std::vector<std::string> why(end - done);
    for (size_t i = done; i < end; ++i)
      threads.emplace_back(
          [&, i] { why[i - done] = writePage(wanted[i], machine, folder); });
    for (std::thread &thread : threads)
      thread.join();
    for (size_t i = done; i < end; ++i)
      for (const size_t link : wanted[i].links)
        (why[i - done].empty() ? links[link].page : links[link].why) =
            why[i - done].empty() ? wanted[i].page : why[i - done];
  }
  return links;
}

std::string linkedTrace(Json trace, const std::vector<KernelLink> &links) {
  std::string text = "{\"displayTimeUnit\": \"ms\", \"traceEvents\": [";
  const char *separator = "\n";
  for (Json &event : trace.at("traceEvents")) {
    if (const auto args = event.find("args");
        args != event.end() && args->contains("listed")) {
      const KernelLink &link = links.at((*args)["listed"].get<size_t>());
      if (!link.page.empty()) {
        (*args)["page"] = link.page;
        (*args)["page_target"] = link.configured.at("target");
      }
    }
    text +=
        separator + event.dump(-1, ' ', false, Json::error_handler_t::replace);
    separator = ",\n";
  }
  return text + "\n]}\n";
}

Json indexJson(const Json &trace, const std::vector<KernelLink> &links,
               const Json &about) {
  Json data = summaryOf(trace.at("traceEvents"));
  for (Json &row : data["kernels"]) {
    const int64_t listed = row.at("listed");
    if (listed < 0 || size_t(listed) >= links.size())
      continue;
    const KernelLink &link = links[size_t(listed)];
    row["page"] = link.page;
    row["why"] = link.why;
    row["file"] = link.file;
    row["shown"] = link.configured.is_null()
                       ? std::string()
                       : configurationText(
                             CompileRequest::fromJson(link.configured.dump()));
  }
  data["version"] = 1;
  data["run"] = about;
  return data;
}

std::string indexPage(const Json &data) {
  return htmlPage({"tessera profile", pageStyle() + profileStyle(),
                   profileBody(), profileScript()},
                  data);
}

} // namespace tessera::tools
