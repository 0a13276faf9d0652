// autotune/table/ParseTable.cpp - tables from YAML, with places in every
// message.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "autotune/table/TuneTable.h"
#include "autotune/table/TuneText.h"
#include "autotune/table/Yaml.h"
#include "language/ConstexprValues.h"
#include "language/ValueJson.h"
#include "support/Error.h"
#include "support/File.h"
#include "support/Text.h"

#include <cmath>
#include <map>

namespace tessera::tune {

namespace {

constexpr size_t longestTable = size_t(16) << 20;

class TableReader : YamlReader {
public:
  explicit TableReader(const std::string &name) : YamlReader(name) {}

  TuneTable read(const YAML::Node &root) {
    TuneTable table;
    const Members members = map(
        root, "a table", {"tessera_tuning", "device", "made", "entries"}, {});
    const YAML::Node version = need(root, members, "tessera_tuning");
    if (const int64_t found = integer(version); found != tableVersion)
      fail(version,
           "the table is of version " + std::to_string(found) +
               "; this build reads " + std::to_string(tableVersion),
           found > tableVersion ? "update tessera, or tune with this build"
                                : "make the table again with tessera tune");
    table.device = device(need(root, members, "device"));
    if (auto made = members.find("made"); made != members.end())
      table.provenance = provenance(made->second);
    const YAML::Node entries = need(root, members, "entries");
    if (!entries.IsSequence())
      fail(entries, "`entries` is not a list",
           "write a dash before each entry");
    std::map<TuneKey, YAML::Mark> seen;
    for (const YAML::Node &node : entries) {
      TuneEntry entry = this->entry(node);
      const auto [first, fresh] = seen.emplace(entry.key, node.Mark());
      if (!fresh)
        fail(node,
             "a second entry for " + describe(entry.key) +
                 "; the first is at " + placeOf(first->second),
             "remove one of the two");
      try {
        table.set(std::move(entry));
      } catch (const Error &error) {
        fail(node, error.message, error.hint);
      }
    }
    return table;
  }

private:
  // Decodes a tuple as TuneText.h writes it.
  ConstexprValue encoded(const YAML::Node &node,
                         const std::string &json) const {
    try {
      return language::fromValue(
          "value", language::valueFromJson(parseJson(json, "value"), "value"));
    } catch (const Error &error) {
      fail(node, error.message, error.hint);
    }
  }

  ConstexprValue value(const YAML::Node &node) const {
    if (node.IsNull())
      return nullptr;
    const std::string plain = text(node);
    if (node.Tag() == "!") // in quotes
      return plain;
    if (node.Tag() == "!value")
      return encoded(node, plain);
    if (plain == "true" || plain == "false")
      return plain == "true";
    if (plain.starts_with("tl."))
      if (const auto type = dtypeFromText(plain))
        return *type;
    if (const auto whole = numberFromText<int64_t>(plain))
      return *whole;
    if (const auto real = numberFromText<double>(plain);
        real && std::isfinite(*real))
      return *real;
    fail(node, "`" + shown(plain) + "` is not a value of a constexpr",
         "write a finite number, true, false, null, a dtype such as "
         "tl.float32, or a text in double quotes");
  }

  Constexprs constexprs(const Members &members) const {
    Constexprs result;
    for (const auto &[key, node] : members)
      result.emplace(key, value(node));
    return result;
  }

  TuneChoice choice(const YAML::Node &node) const {
    Members members = map(node, "a configuration", {}, {});
    TuneChoice result;
    for (auto [key, count] : {std::pair{"num_warps", &result.numWarps},
                              std::pair{"num_stages", &result.numStages}})
      if (auto found = members.find(key); found != members.end()) {
        *count = integer(found->second);
        members.erase(found);
      }
    result.constexprs = constexprs(members);
    return result;
  }

  DeviceModel device(const YAML::Node &node) const {
    const Members members =
        map(node, "the device",
            {"name", "target", "cores", "threads", "power_watts"},
            {"name", "target", "cores"});
    DeviceModel device;
    device.name = text(members.at("name"));
    device.target = text(members.at("target"));
    if (device.name.empty() || device.target.empty())
      fail(node, "the device has no name or no target",
           "tessera tune --show prints those of this machine");
    for (auto [key, count] : {std::pair{"cores", &device.cores},
                              std::pair{"threads", &device.threads},
                              std::pair{"power_watts", &device.powerWatts}})
      if (auto found = members.find(key); found != members.end()) {
        *count = integer(found->second);
        if (*count < 0 || *count > 1 << 20)
          fail(found->second, "`" + std::string(key) + "` is out of range",
               "write the device's");
      }
    return device;
  }

  TuneProvenance provenance(const YAML::Node &node) const {
    TuneProvenance from;
    std::vector<std::string> known;
    for (const auto &[key, field] : provenanceFields)
      known.push_back(key);
    const Members members = map(node, "`made`", known, {});
    for (const auto &[key, field] : provenanceFields)
      if (auto found = members.find(key); found != members.end())
        from.*field = text(found->second);
    return from;
  }

  void readTime(const YAML::Node &node, TuneEntry &entry) const {
    const Members members =
        map(node, "`time`", {"us", "spread", "default_us", "date", "predicted"},
            {"us", "spread", "date"});
    entry.timeUs = number(members.at("us"));
    entry.spread = number(members.at("spread"));
    entry.date = text(members.at("date"));
    if (auto found = members.find("default_us"); found != members.end())
      entry.defaultUs = number(found->second);
    if (auto found = members.find("predicted"); found != members.end())
      entry.predicted = truth(found->second);
  }

  TuneEntry entry(const YAML::Node &node) const {
    const Members members = map(
        node, "an entry",
        {"kernel", "text", "sequence", "dtypes", "constexprs", "use", "time",
         "runner_up", "why"},
        {"kernel", "text", "sequence", "dtypes", "constexprs", "use", "time"});
    TuneEntry entry;
    entry.key.kernel = text(members.at("kernel"));
    entry.key.textHash = text(members.at("text"));
    entry.key.bucket = integer(members.at("sequence"));
    if (!members.at("dtypes").IsSequence())
      fail(members.at("dtypes"), "`dtypes` is not a list", "write [bf16, i32]");
    for (const YAML::Node &type : members.at("dtypes"))
      entry.key.dtypes.push_back(text(type));
    entry.key.constexprs = constexprs(
        map(members.at("constexprs"), "the list of constexprs", {}, {}));
    entry.use = choice(members.at("use"));
    readTime(members.at("time"), entry);
    if (auto found = members.find("runner_up"); found != members.end()) {
      const Members second =
          map(found->second, "`runner_up`", {"us", "use"}, {"us", "use"});
      entry.runnerUpUs = number(second.at("us"));
      entry.runnerUp = choice(second.at("use"));
    }
    if (auto found = members.find("why"); found != members.end())
      entry.why = text(found->second);
    return entry;
  }
};

} // namespace

TuneTable parseTable(std::string_view text, const std::string &name) {
  const YamlDocument what = {
      "table", longestTable,
      "make it again with tessera tune, or merge tables with "
      "tessera tune --merge"};
  TuneTable table;
  readYaml(text, name, what, [&](const YAML::Node &root) {
    table = TableReader(name).read(root);
  });
  return table;
}

TuneTable readTable(const std::filesystem::path &file) {
  return parseTable(readFile(file), file.string());
}

} // namespace tessera::tune
