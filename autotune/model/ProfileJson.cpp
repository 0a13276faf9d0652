// autotune/model/ProfileJson.cpp - launch profiles as JSON.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "autotune/model/ProfileJson.h"

namespace tessera::tune {

namespace {

const char *partName(unsigned part) {
  switch (part) {
  case WorkTensor:
    return "multiply_adds";
  case WorkShared:
    return "bank_passes";
  case WorkSectors:
    return "sectors";
  case WorkLoads:
    return "load_waits";
  case WorkWaits:
    return "copy_waits";
  default:
    return sim::className(sim::Class(part));
  }
}

} // namespace

Json toJson(const LaunchProfile &profile) {
  Json samples = Json::array();
  for (const LaunchProfile::Sample &sample : profile.samples) {
    Json work = Json::object();
    for (unsigned part = 0; part < NumWorkParts; ++part)
      if (sample.work[part] > 0)
        work[partName(part)] = sample.work[part];
    samples.push_back({{"at", sample.at}, {"work", work}});
  }
  return {{"grid", profile.grid},
          {"threads", profile.threads},
          {"registers", profile.registers},
          {"shared_bytes", profile.sharedBytes},
          {"copies_in_flight", profile.copiesInFlight},
          {"bytes", profile.bytes},
          {"samples", samples}};
}

LaunchProfile profileFromJson(const Json &json) {
  LaunchProfile profile;
  profile.grid = json.at("grid").get<Grid>();
  profile.threads = json.at("threads");
  profile.registers = json.at("registers");
  profile.sharedBytes = json.at("shared_bytes");
  profile.copiesInFlight = json.at("copies_in_flight");
  profile.bytes = json.at("bytes");
  for (const Json &one : json.at("samples")) {
    LaunchProfile::Sample sample;
    sample.at = one.at("at").get<std::array<double, 3>>();
    for (unsigned part = 0; part < NumWorkParts; ++part)
      sample.work[part] = one.at("work").value(partName(part), 0.0);
    profile.samples.push_back(sample);
  }
  return profile;
}

} // namespace tessera::tune
