// autotune/choice/Tables.cpp - the tuning tables that this process's launches
// use.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "autotune/choice/Tables.h"

#include "autotune/choice/FindTable.h"
#include "autotune/choice/KernelKey.h"
#include "autotune/choice/StaleEntries.h"
#include "runtime/launch/KernelState.h"
#include "support/Error.h"
#include "support/Hash.h"
#include "support/Log.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <memory>
#include <mutex>
#include <set>

namespace tessera::tune {

namespace {

// The table of one device, read once. A replaced table stays in memory, because
// launches of other threads may still read it.
struct Slot {
  std::atomic<bool> ready{false};
  std::atomic<const UsedTable *> used{nullptr};
};

struct Tables {
  std::mutex mutex;
  std::array<Slot, 256> slots; // by LaunchDevice::number
  std::vector<std::unique_ptr<UsedTable>> all;
};

Tables &tables() {
  static auto *const made = new Tables;
  return *made;
}

std::string listOf(const std::vector<StaleEntry> &stale) {
  std::set<std::string> kernels;
  for (const StaleEntry &entry : stale)
    kernels.insert(entry.key.kernel);
  std::string text = *kernels.begin();
  if (kernels.size() > 1)
    text += " and " + std::to_string(kernels.size() - 1) + " more";
  return text;
}

void report(const std::string &path, const TuneTable &table,
            const std::vector<StaleEntry> &stale) {
  if (stale.empty())
    return;
  logWarning(path + ": " + std::to_string(stale.size()) + " of " +
             std::to_string(table.entries().size()) +
             " tuned configurations are stale and not used, " + listOf(stale) +
             " changed since; renew them: " + renewalCommand(table, path));
}

// Stores a table. The caller holds the mutex.
const UsedTable *keep(Tables &all, TuneTable table, const std::string &path,
                      const std::string &origin) {
  auto used = std::make_unique<UsedTable>();
  used->origin = origin;
  used->sha256 = sha256Hex(printTable(table));
  const std::vector<StaleEntry> stale = staleEntries(table);
  report(path, table, stale);
  for (const StaleEntry &entry : stale)
    table.erase(entry.key);
  used->path = path;
  used->table = std::move(table);
  used->stale = stale.size();
  used->number = uint32_t(all.all.size() + 1);
  all.all.push_back(std::move(used));
  return all.all.back().get();
}

} // namespace

const UsedTable *tableOf(const runtime::LaunchDevice &device) {
  Tables &all = tables();
  Slot &slot = all.slots[device.number];
  if (slot.ready.load(std::memory_order_acquire))
    return slot.used.load(std::memory_order_acquire);
  std::lock_guard<std::mutex> guard(all.mutex);
  if (!slot.ready.load(std::memory_order_acquire)) {
    if (auto found = findTable(device))
      slot.used.store(
          keep(all, std::move(found->table), found->path, found->origin),
          std::memory_order_release);
    slot.ready.store(true, std::memory_order_release);
  }
  return slot.used.load(std::memory_order_acquire);
}

void useTable(const std::string &device, std::optional<TuneTable> table,
              const std::string &path) {
  Slot &slot = tables().slots[runtime::findLaunchDevice(device).number];
  std::lock_guard<std::mutex> guard(tables().mutex);
  slot.used.store(table ? keep(tables(), std::move(*table), path, "given")
                        : nullptr,
                  std::memory_order_release);
  slot.ready.store(true, std::memory_order_release);
}

namespace {

class TableChooser : public runtime::ConfigurationChooser {
public:
  uint64_t tag(const runtime::LaunchDevice &device,
               const LaunchOptions &options) const override {
    const UsedTable *used = tableOf(device);
    if (!used || used->table.entries().empty())
      return 0;
    return uint64_t(used->number) << 8 |
           uint64_t(std::bit_width(uint64_t(bucketOf(options.sequence))));
  }

  runtime::ChosenConfiguration
  choose(const runtime::LaunchDevice &device, const Kernel::State &kernel,
         std::span<const Arg> args, const Constexprs &constexprs,
         const LaunchOptions &options) const override {
    runtime::ChosenConfiguration chosen;
    const UsedTable *used = tableOf(device);
    const TuneKey key = makeKey(kernel, args, constexprs, options.sequence);
    chosen.launch = describe(key);
    if (!used) {
      chosen.why = "no table";
      return chosen;
    }
    if (options.numWarps || options.numStages) {
      chosen.why = "the launch gives warps or stages";
      return chosen;
    }
    const TuneEntry *entry = used->table.find(key);
    chosen.why = (entry ? "table " : "no entry in ") + used->path;
    if (!entry)
      return chosen;
    const auto &[tiles, numWarps, numStages] = entry->use;
    chosen.tuned = {tiles, numWarps, numStages};
    chosen.roundedLength = options.sequence != key.bucket;
    chosen.origin = "the configuration " + describe(entry->use) +
                    " is that of " + used->path + " for " +
                    describe(entry->key);
    return chosen;
  }

  runtime::TableIdentity
  table(const runtime::LaunchDevice &device) const override {
    const UsedTable *used = tableOf(device);
    if (!used)
      return {};
    return {used->path, used->origin, used->sha256};
  }
};

} // namespace

const runtime::ConfigurationChooser &tableChooser() {
  static const TableChooser chooser;
  return chooser;
}

} // namespace tessera::tune
