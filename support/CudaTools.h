// support/CudaTools.h - finds ptxas and nvdisasm and their versions.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace tessera {

// A PTX assembler.
struct Ptxas {
  std::filesystem::path path;
  std::string version; // "12.8.93"

  // Returns the newest PTX version that it reads, 87 for 8.7 (PTX ISA, "Release
  // Notes").
  uint32_t ptxVersion() const;
};

// Returns the ptxas that TESSERA_PTXAS names ("none": no ptxas). Without the
// variable, returns the first that reads PTX 8.7 in: PATH, CUDA_HOME,
// CUDA_PATH, /usr/local/cuda, the installed triton wheel. Returns nullopt if
// none is found, and lists the searched folders in `why`. Throws Error if
// TESSERA_PTXAS names another program or a ptxas that is too old.
//
// `versions` is a file that caches the version of a ptxas by path, size and
// modification time, because running ptxas takes 30 ms. Empty: no file.
std::optional<Ptxas> findPtxas(const std::filesystem::path &versions = {},
                               std::string *why = nullptr);

// Runs ptxas and returns its version: "12.8.93". Throws Error if the program is
// not ptxas.
std::string askPtxasVersion(const std::filesystem::path &path);

// Returns the versions in the file, newest first. Without ptxas, artifacts of
// these versions are still usable.
std::vector<std::string>
knownPtxasVersions(const std::filesystem::path &versions);

// Returns nvdisasm of the folder of `ptxas`, else of the folders that
// findPtxas() searches. Returns nullopt if none is found.
std::optional<std::filesystem::path>
findDisassembler(const std::filesystem::path &ptxas = {});

// Returns the folder of the pinned wheels: TESSERA_DEPS, else
// $XDG_DATA_HOME/tessera, else ~/.local/share/tessera.
std::filesystem::path wheelFolder();

} // namespace tessera
