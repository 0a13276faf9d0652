// support/CudaTools.cpp - finds ptxas and nvdisasm and their versions.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "support/CudaTools.h"

#include "support/File.h"
#include "support/Json.h"
#include "support/Options.h"
#include "support/Process.h"
#include "support/ShallowJson.h"
#include "support/Trust.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <sys/stat.h>
#include <unistd.h>

namespace tessera {

namespace fs = std::filesystem;

namespace {

// PTX 8.7 came with CUDA 12.8.
constexpr uint32_t wantedPtx = 87;

bool isProgram(const fs::path &path) {
  std::error_code ignored;
  return fs::is_regular_file(path, ignored) &&
         ::access(path.c_str(), X_OK) == 0;
}

// Returns the folders that may hold the tools, in search order.
std::vector<fs::path> toolFolders() {
  std::vector<fs::path> folders;
  if (const char *path = std::getenv("PATH")) {
    std::string_view rest = path;
    while (!rest.empty()) {
      const size_t end = std::min(rest.find(':'), rest.size());
      if (end)
        folders.emplace_back(rest.substr(0, end));
      rest.remove_prefix(std::min(end + 1, rest.size()));
    }
  }
  for (const char *variable : {"CUDA_HOME", "CUDA_PATH"})
    if (const char *home = std::getenv(variable); home && *home)
      folders.push_back(fs::path(home) / "bin");
  folders.emplace_back("/usr/local/cuda/bin");
  std::error_code ignored;
  std::vector<fs::path> pythons;
  for (const auto &python :
       fs::directory_iterator(wheelFolder() / "venv" / "lib", ignored))
    pythons.push_back(python.path());
  std::sort(pythons.begin(), pythons.end());
  for (const fs::path &python : pythons)
    folders.push_back(python / "site-packages/triton/backends/nvidia/bin");
  return folders;
}

// "PATH SIZE SECONDS.NANOSECONDS"
std::string identityOf(const fs::path &path) {
  struct stat info;
  if (::stat(path.c_str(), &info) != 0)
    return {};
  return path.string() + " " + std::to_string(info.st_size) + " " +
         std::to_string(info.st_mtim.tv_sec) + "." +
         std::to_string(info.st_mtim.tv_nsec);
}

// Reads {"identity": "version"}; other content counts as empty.
std::map<std::string, std::string> readVersions(const fs::path &file) {
  std::map<std::string, std::string> result;
  const auto text = file.empty() ? std::nullopt : tryReadFile(file);
  if (!text)
    return result;
  const Json json = parseShallowJson(*text);
  if (json.is_object())
    for (const auto &[key, value] : json.items())
      if (value.is_string())
        result[key] = value.get<std::string>();
  return result;
}

std::string versionOf(const fs::path &path, const fs::path &file) {
  const std::string identity = identityOf(path);
  auto known = readVersions(file);
  if (auto found = known.find(identity); found != known.end())
    return found->second;
  const std::string version = askPtxasVersion(path);
  if (!file.empty()) {
    try {
      known[identity] = version;
      writeFile(file, Json(known).dump(1) + "\n");
    } catch (const Error &) {
      // Not remembered: the next call runs the program again.
    }
  }
  return version;
}

uint32_t majorOf(const std::string &version) {
  return uint32_t(std::strtoul(version.c_str(), nullptr, 10));
}

uint32_t minorOf(const std::string &version) {
  const size_t dot = version.find('.');
  return dot == version.npos
             ? 0
             : uint32_t(std::strtoul(version.c_str() + dot + 1, nullptr, 10));
}

// The folders that the user names in PATH and CUDA_HOME are the user's choice.
// Returns why a program in the wheels' folder is not trusted, else "".
std::string whyNotOfWheels(const fs::path &program) {
  const fs::path wheels = wheelFolder();
  if (wheels.empty() || !program.string().starts_with(wheels.string() + "/"))
    return "";
  const auto distrust = findDistrust(program);
  return distrust ? distrust->reason + " (" + distrust->hint + ")" : "";
}

std::string ptxText(uint32_t version) {
  return std::to_string(version / 10) + "." + std::to_string(version % 10);
}

} // namespace

fs::path wheelFolder() {
  if (std::string set = optionText(Option::Deps); !set.empty())
    return set;
  if (const char *data = std::getenv("XDG_DATA_HOME"); data && *data)
    return fs::path(data) / "tessera";
  if (const char *home = std::getenv("HOME"); home && *home)
    return fs::path(home) / ".local/share/tessera";
  return {};
}

uint32_t Ptxas::ptxVersion() const {
  const uint32_t major = majorOf(version), minor = minorOf(version);
  // CUDA 11.0 to 11.8 read PTX 7.0 to 7.8. CUDA 12.0 to 12.9 read 8.0 to 8.8;
  // two of them share a version. CUDA 13.0 reads 9.0.
  if (major >= 13)
    return major * 10 - 40 + std::min(minor, 9u);
  if (major == 12)
    return 80 + (minor >= 6 ? minor - 1 : minor);
  if (major == 11)
    return 70 + minor;
  return 60;
}

std::string askPtxasVersion(const fs::path &path) {
  const CommandResult said =
      runTool({path.string(), "--version"}, std::chrono::seconds(20));
  // "Cuda compilation tools, release 12.8, V12.8.93"
  const size_t at = said.output.find(", V");
  if (!said.status.ok() || said.output.find("ptxas") == std::string::npos ||
      at == std::string::npos) {
    const std::string why = said.timedOut ? "it does not end"
                            : said.status.ok()
                                ? "it does not say a version of ptxas"
                                : "it ends with " + said.status.text();
    throw Error(path.string() + " is not a ptxas: " + why +
                    " when asked --version",
                "set TESSERA_PTXAS to the ptxas of CUDA 12.8 or newer, or "
                "unset it");
  }
  const size_t end = said.output.find_first_not_of("0123456789.", at + 3);
  return said.output.substr(at + 3, std::min(end, said.output.size()) - at - 3);
}

std::vector<std::string> knownPtxasVersions(const fs::path &versions) {
  std::vector<std::string> result;
  for (const auto &[identity, version] : readVersions(versions))
    if (std::find(result.begin(), result.end(), version) == result.end())
      result.push_back(version);
  std::sort(result.begin(), result.end(),
            [](const std::string &a, const std::string &b) {
              return std::pair(majorOf(a), minorOf(a)) >
                     std::pair(majorOf(b), minorOf(b));
            });
  return result;
}

std::optional<Ptxas> findPtxas(const fs::path &versions, std::string *why) {
  const std::string hint = "install CUDA 12.8 or newer, or the wheels with "
                           "scripts/setup full (triton has a ptxas), or set "
                           "TESSERA_PTXAS to one";
  if (const std::string set = optionText(Option::Ptxas); set == "none") {
    if (why)
      *why = "TESSERA_PTXAS=none";
    return std::nullopt;
  } else if (!set.empty()) {
    if (!isProgram(set))
      throw Error("TESSERA_PTXAS=" + set + " is not a program", hint);
    Ptxas ptxas = {set, versionOf(set, versions)};
    if (ptxas.ptxVersion() < wantedPtx)
      throw Error("TESSERA_PTXAS=" + set + " is version " + ptxas.version +
                      ", which reads PTX up to " + ptxText(ptxas.ptxVersion()) +
                      "; kernels are PTX " + ptxText(wantedPtx),
                  hint);
    return ptxas;
  }
  std::string looked;
  for (const fs::path &folder : toolFolders()) {
    const fs::path path = folder / "ptxas";
    if (!isProgram(path))
      continue;
    if (const std::string unsafe = whyNotOfWheels(path); !unsafe.empty()) {
      looked += (looked.empty() ? "" : ", ") + unsafe;
      continue;
    }
    try {
      Ptxas ptxas = {path, versionOf(path, versions)};
      if (ptxas.ptxVersion() >= wantedPtx)
        return ptxas;
      looked += (looked.empty() ? "" : ", ") + path.string() + " is too old (" +
                ptxas.version + ", PTX " + ptxText(ptxas.ptxVersion()) + ")";
    } catch (const Error &error) {
      looked += (looked.empty() ? "" : ", ") + error.message;
    }
  }
  if (why)
    *why = looked.empty() ? "no ptxas in PATH, CUDA_HOME, "
                            "/usr/local/cuda or the wheels"
                          : looked;
  return std::nullopt;
}

std::optional<fs::path> findDisassembler(const fs::path &ptxas) {
  std::vector<fs::path> folders;
  if (!ptxas.empty())
    folders.push_back(ptxas.parent_path());
  for (fs::path &folder : toolFolders())
    folders.push_back(std::move(folder));
  for (const fs::path &folder : folders)
    if (isProgram(folder / "nvdisasm") &&
        whyNotOfWheels(folder / "nvdisasm").empty())
      return folder / "nvdisasm";
  return std::nullopt;
}

} // namespace tessera
