// autotune/table/DeviceModel.cpp - describes the machines of tuning tables.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "autotune/table/TuneTable.h"

namespace tessera::tune {

namespace {

char lower(char c) { return c >= 'A' && c <= 'Z' ? char(c - 'A' + 'a') : c; }

bool isWordSign(char c) {
  c = lower(c);
  return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
}

// Returns a name as "nvidia-a100-sxm4-80gb".
std::string slug(const std::string &name) {
  std::string text;
  for (char c : name)
    if (isWordSign(c))
      text += lower(c);
    else if (!text.empty() && text.back() != '-')
      text += '-';
  while (!text.empty() && text.back() == '-')
    text.pop_back();
  return text;
}

// True if `name` begins with all words of `start`.
bool beginsWith(const std::string &name, const std::string &start) {
  return name == start || name.starts_with(start + "-");
}

bool isCpu(const DeviceModel &device) {
  return device.target.starts_with("cpu");
}

} // namespace

std::string describe(const DeviceModel &device) {
  std::string text = device.name + ", " + device.target;
  if (device.cores)
    text += ", " + std::to_string(device.cores) +
            (isCpu(device) ? " cores" : " SMs");
  if (device.threads)
    text += " (" + std::to_string(device.threads) + " threads)";
  if (device.powerWatts)
    text += ", " + std::to_string(device.powerWatts) + " W";
  return text;
}

bool fits(const DeviceModel &table, const DeviceModel &here) {
  const std::string name = slug(table.name);
  return !name.empty() && beginsWith(slug(here.name), name) &&
         table.target == here.target && table.cores == here.cores &&
         table.threads == here.threads &&
         (table.powerWatts == 0 || here.powerWatts == 0 ||
          table.powerWatts == here.powerWatts);
}

std::string fileStem(const DeviceModel &device) {
  std::string text = slug(device.name) + "-" + std::to_string(device.cores);
  if (!isCpu(device))
    return text + "sm";
  return text + "c" + std::to_string(device.threads) + "t";
}

} // namespace tessera::tune
