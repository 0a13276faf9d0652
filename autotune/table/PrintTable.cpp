// autotune/table/PrintTable.cpp - prints a table as YAML that users read and
// edit.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "autotune/table/TuneTable.h"
#include "autotune/table/TuneText.h"
#include "language/Value.h"
#include "support/File.h"
#include "support/Lists.h"

#include <algorithm>

namespace tessera::tune {

namespace {

// Quotes a text that YAML could interpret as another type.
std::string scalar(const std::string &text) {
  const bool plain = !text.empty() && text.back() != ':' &&
                     std::all_of(text.begin(), text.end(),
                                 [](char c) {
                                   return (c >= '0' && c <= '9') ||
                                          (c >= 'a' && c <= 'z') ||
                                          (c >= 'A' && c <= 'Z') ||
                                          std::string_view("_./:-").find(c) !=
                                              std::string_view::npos;
                                 }) &&
                     text[0] != '-' && text[0] != ':' && text != "null" &&
                     text != "Null" && text != "NULL";
  return plain ? text : quotedText(text);
}

// A flow map, one line.
class Line {
public:
  Line &add(const std::string &key, const std::string &written) {
    text += (text.size() > 1 ? ", " : "") + key + ": " + written;
    return *this;
  }
  std::string str() const { return text + "}"; }

private:
  std::string text = "{";
};

std::string number(double value) { return language::printFloat(value); }

std::string map(const Constexprs &constexprs) {
  Line line;
  for (const auto &[name, value] : constexprs)
    line.add(scalar(name), valueText(value));
  return line.str();
}

std::string map(const TuneChoice &choice) {
  Line line;
  for (const auto &[name, value] : choice.constexprs)
    line.add(scalar(name), valueText(value));
  if (choice.numWarps)
    line.add("num_warps", std::to_string(*choice.numWarps));
  if (choice.numStages)
    line.add("num_stages", std::to_string(*choice.numStages));
  return line.str();
}

std::string print(const TuneEntry &entry) {
  const TuneKey &key = entry.key;
  std::string text = "- kernel: " + scalar(key.kernel) + "\n";
  text += "  text: " + key.textHash + "\n";
  text += "  sequence: " + std::to_string(key.bucket) + "\n";
  text += "  dtypes: [" + joined(key.dtypes, ", ") + "]\n";
  text += "  constexprs: " + map(key.constexprs) + "\n";
  text += "  use: " + map(entry.use) + "\n";
  Line time;
  time.add("us", number(entry.timeUs)).add("spread", number(entry.spread));
  if (entry.defaultUs != 0)
    time.add("default_us", number(entry.defaultUs));
  time.add("date", entry.date);
  if (entry.predicted)
    time.add("predicted", "true");
  text += "  time: " + time.str() + "\n";
  if (entry.runnerUp)
    text += "  runner_up: " +
            Line()
                .add("us", number(entry.runnerUpUs))
                .add("use", map(*entry.runnerUp))
                .str() +
            "\n";
  if (!entry.why.empty())
    text += "  why: " + scalar(entry.why) + "\n";
  return text;
}

} // namespace

std::string printTable(const TuneTable &table) {
  const DeviceModel &device = table.device;
  Line model;
  model.add("name", scalar(device.name))
      .add("target", scalar(device.target))
      .add("cores", std::to_string(device.cores));
  if (device.threads)
    model.add("threads", std::to_string(device.threads));
  if (device.powerWatts)
    model.add("power_watts", std::to_string(device.powerWatts));
  std::string made;
  for (const auto &[key, field] : provenanceFields)
    if (const std::string &value = table.provenance.*field; !value.empty())
      made += "  " + std::string(key) + ": " + scalar(value) + "\n";
  std::string text = "# Tuned configurations, see docs/tuning.md.\n";
  text += "tessera_tuning: " + std::to_string(tableVersion) + "\n";
  text += "device: " + model.str() + "\n";
  text += made.empty() ? "made: {}\n" : "made:\n" + made;
  text += table.entries().empty() ? "entries: []\n" : "entries:\n";
  for (const TuneEntry &entry : table.entries())
    text += print(entry);
  return text;
}

void writeTable(const std::filesystem::path &file, const TuneTable &table) {
  writeOutput(file, printTable(table));
}

} // namespace tessera::tune
