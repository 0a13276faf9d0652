// runtime/tune/Tables.cpp - the tables that launches of this process go by.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "runtime/tune/Tables.h"

#include "runtime/launch/KernelState.h"
#include "runtime/tune/FindTable.h"
#include "runtime/tune/KernelKey.h"
#include "runtime/tune/Stale.h"
#include "support/Error.h"
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

// Read once by each device. What replaces a table leaves it in memory: launches
// of other threads may still look into it.
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

// Holding the mutex.
const UsedTable *keep(Tables &all, TuneTable table, const std::string &path) {
  auto used = std::make_unique<UsedTable>();
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
      slot.used.store(keep(all, std::move(found->table), found->path),
                      std::memory_order_release);
    slot.ready.store(true, std::memory_order_release);
  }
  return slot.used.load(std::memory_order_acquire);
}

void useTable(const std::string &device, std::optional<TuneTable> table,
              const std::string &path) {
  Slot &slot = tables().slots[runtime::findLaunchDevice(device).number];
  std::lock_guard<std::mutex> guard(tables().mutex);
  slot.used.store(table ? keep(tables(), std::move(*table), path) : nullptr,
                  std::memory_order_release);
  slot.ready.store(true, std::memory_order_release);
}

uint64_t launchTag(const runtime::LaunchDevice &device,
                   const LaunchOptions &options) {
  const UsedTable *used = options.tuned ? tableOf(device) : nullptr;
  if (!used || used->table.entries().empty())
    return 0;
  return uint64_t(used->number) << 8 |
         uint64_t(std::bit_width(uint64_t(bucketOf(options.sequence))));
}

Chosen choose(const runtime::LaunchDevice &device, const Kernel::State &kernel,
              std::span<const Arg> args, const Constexprs &constexprs,
              const LaunchOptions &options) {
  Chosen chosen;
  if (!options.tuned) {
    chosen.why = "tables are not asked";
    return chosen;
  }
  const UsedTable *used = tableOf(device);
  if (!used) {
    chosen.why = "no table";
    return chosen;
  }
  if (options.numWarps || options.numStages) {
    chosen.why = "the launch gives warps or stages";
    return chosen;
  }
  chosen.entry =
      used->table.find(makeKey(kernel, args, constexprs, options.sequence));
  chosen.table = used;
  chosen.why = (chosen.entry ? "table " : "no entry in ") + used->path;
  return chosen;
}

std::string originOf(const Chosen &chosen) {
  if (!chosen.entry)
    return "";
  return "the configuration " + describe(chosen.entry->use) + " is that of " +
         chosen.table->path + " for " + describe(chosen.entry->key);
}

Route &routeOf(const Chosen &chosen, const runtime::LaunchDevice &device,
               const Kernel::State &kernel,
               const syntax::CompileRequest &request) {
  std::string text;
  const auto add = [&](const std::string &name, const std::string &value) {
    text += (text.empty() ? "" : " ") + name + "=" + value;
  };
  const auto usual = kernel.defaults(device, chosen);
  for (const syntax::Argument &argument : request.args)
    if (usual.constexprs.count(argument.name))
      add(argument.name, argument.value.repr());
  if (!device.isCpu()) {
    add("num_warps", std::to_string(request.options.numWarps));
    add("num_stages", std::to_string(request.options.numStages));
  }
  return addRoute(kernel.tuneName().first, device.name, text,
                  chosen.entry != nullptr, chosen.why);
}

} // namespace tessera::tune
