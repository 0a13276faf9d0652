// tools/pack/PackListing.cpp - lists the contents of a pack as readable text.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "tools/pack/PackListing.h"

#include "autotune/table/TuneTable.h"
#include "runtime/pack/Pack.h"
#include "support/BuildId.h"
#include "support/GpuTarget.h"

#include <cstdio>
#include <map>
#include <set>

namespace tessera::tools {

namespace {

struct OfTarget {
  std::set<uint64_t> kernels;
  size_t entries = 0, machineCode = 0;
  uint64_t bytes = 0;
};

double mebibytes(uint64_t bytes) { return double(bytes) / (1 << 20); }

} // namespace

int printPackListing(const std::filesystem::path &path) {
  const runtime::Pack pack(path, MappedFile::Use::Read);
  const runtime::PackIndex &index = pack.index();
  std::map<std::string, OfTarget> targets;
  std::map<uint64_t, size_t> specializations; // by kernel
  uint64_t bytes = 0;
  for (const runtime::PackEntry &entry : index.entries) {
    OfTarget &target = targets[entry.target];
    target.kernels.insert(entry.kernel);
    ++target.entries;
    target.machineCode += !pack.read(entry).code.empty();
    target.bytes += entry.bytes;
    bytes += entry.bytes;
    ++specializations[entry.kernel];
  }
  std::printf("%s: %zu specializations of %zu kernels, %.2f MiB, all "
              "checksums right\n",
              path.c_str(), index.entries.size(), index.kernels.size(),
              mebibytes(bytes));
  std::printf("made by: %s\n", index.command.c_str());
  std::printf("tessera %s, commit %s, compiler %s%s\n", index.version.c_str(),
              index.commit.empty() ? "unknown" : index.commit.c_str(),
              index.compiler.substr(0, 12).c_str(),
              index.compiler == compilerBuildId()
                  ? ""
                  : ", which is not this one: it cannot be used here");
  for (const auto &[name, target] : targets) {
    std::printf("  %-22s %3zu specializations of %zu kernels, %.2f MiB",
                name.c_str(), target.entries, target.kernels.size(),
                mebibytes(target.bytes));
    if (const size_t ptx = target.entries - target.machineCode)
      std::printf(", %zu as PTX alone", ptx);
    std::printf("\n");
  }
  for (const std::string &text : index.tables) {
    const tune::TuneTable table = tune::parseTable(text, path.string());
    std::printf("  table of %zu entries for %s\n", table.entries().size(),
                describe(table.device).c_str());
  }
  for (size_t i = 0; i < index.kernels.size(); ++i)
    std::printf("  %-38s %-20s text %s, %zu specializations\n",
                index.kernels[i].file.c_str(), index.kernels[i].name.c_str(),
                index.kernels[i].text.substr(0, 12).c_str(),
                specializations[i]);
  return 0;
}

} // namespace tessera::tools
