// runtime/tune/Tables.h - the tables that launches of this process go by.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/Kernel.h"
#include "runtime/launch/LaunchDevice.h"
#include "runtime/tune/Routing.h"
#include "runtime/tune/TuneTable.h"
#include "support/Error.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace tessera::tune {

// Of one device, without its stale entries; lives as long as the process.
struct UsedTable {
  std::string path;
  TuneTable table;
  size_t stale = 0;    // entries that were left out
  uint32_t number = 0; // of all tables of the process, from 1
};

// The table of a device: of TESSERA_TUNED, else of configs/tuned of this build;
// null where there is none for it. The first call reads it and reports once
// what of it is not used. Throws Error for one that TESSERA_TUNED names and
// that cannot be read, each time; one of the build that cannot be read is
// warned of and left out.
const UsedTable *tableOf(const runtime::LaunchDevice &device);
// Makes later launches on the device go by this one, or by none.
void useTable(const std::string &device, std::optional<TuneTable> table,
              const std::string &path = "given");

// What the key of a launch has to hold beside its arguments: the same number
// means the same table and bucket, 0 that no table is asked.
uint64_t launchTag(const runtime::LaunchDevice &device,
                   const LaunchOptions &options);

struct Chosen {
  const TuneEntry *entry = nullptr; // null: the kernel's own configuration
  const UsedTable *table = nullptr;
  std::string why; // "table PATH", "no table", "no entry" ...
};
// The tuned configuration of a launch. One that names its warps or stages
// itself, or a constexpr that the entry's key does not have, gets none: an
// entry is for launches that leave all of it open. Throws Error.
Chosen choose(const runtime::LaunchDevice &device, const Kernel::State &kernel,
              std::span<const Arg> args, const Constexprs &constexprs,
              const LaunchOptions &options);

// "the configuration BM=48 is that of PATH for KEY": for errors of a launch
// that took it. Empty for one that took none.
std::string originOf(const Chosen &chosen);
// Runs `make`; what it throws also says where the configuration came from.
template <typename F>
auto orNameTable(const Chosen &chosen, F &&make) {
  try {
    return make();
  } catch (const CompileError &error) {
    if (!chosen.entry)
      throw;
    throw CompileError(std::string(error.what()) + "note: " + originOf(chosen) +
                       "\n");
  } catch (const Error &error) {
    if (!chosen.entry)
      throw;
    throw Error(error.message + "; " + originOf(chosen), error.hint);
  }
}

// Of a specialization that is about to run.
Route &routeOf(const Chosen &chosen, const runtime::LaunchDevice &device,
               const Kernel::State &kernel,
               const syntax::CompileRequest &request);

} // namespace tessera::tune
