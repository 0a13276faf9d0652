// support/CudaTools.h - ptxas and nvdisasm: where they are, what they are.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace tessera {

// An assembler of PTX.
struct Ptxas {
  std::filesystem::path path;
  std::string version; // "12.8.93"

  // The newest PTX that it reads, 87 for 8.7 (PTX ISA, "Release Notes").
  uint32_t ptxVersion() const;
};

// TESSERA_PTXAS ("none": there is none), or the first of these that reads
// PTX 8.7: ptxas in PATH, in CUDA_HOME and CUDA_PATH, in /usr/local/cuda, in
// the triton wheel of the set-up. None when there is none; `why` then says what
// was looked at. Throws Error when TESSERA_PTXAS names a file that is no ptxas
// or one too old.
//
// `versions` is a file that remembers the version of a ptxas by path, size and
// time of change, because asking takes 30 ms; empty: nothing is remembered.
std::optional<Ptxas> findPtxas(const std::filesystem::path &versions = {},
                               std::string *why = nullptr);

// "12.8.93": what the program says of itself. Throws Error when it is no ptxas.
std::string askPtxasVersion(const std::filesystem::path &path);

// Versions that the file remembers, newest first: of artifacts that were made
// when there was an assembler.
std::vector<std::string>
knownPtxasVersions(const std::filesystem::path &versions);

// nvdisasm beside that ptxas, else in the same places; none without one.
std::optional<std::filesystem::path>
findDisassembler(const std::filesystem::path &ptxas = {});

// Folder of the pinned wheels: TESSERA_DEPS, else $XDG_DATA_HOME/tessera, else
// ~/.local/share/tessera.
std::filesystem::path wheelFolder();

} // namespace tessera
