// autotune/model/Devices.cpp - GPUs whose times can be predicted.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "autotune/model/Devices.h"

#include "autotune/model/DevicesText.h"
#include "autotune/table/Yaml.h"
#include "support/Error.h"
#include "support/Lists.h"
#include "support/Names.h"

#include <map>
#include <set>

namespace tessera::tune {

namespace {

// A number of the file and the member that receives it.
struct Figure {
  const char *name;
  double *to;
};

class GpuReader : YamlReader {
public:
  explicit GpuReader(const std::string &name) : YamlReader(name) {}

  std::vector<GpuData> read(const YAML::Node &root) {
    const std::vector<std::string> names = {"sources", "architectures", "gpus"};
    const Members members = map(root, "the file", names, names);
    for (const auto &[id, source] :
         map(members.at("sources"), "`sources`", {}, {}))
      if (text(source).empty())
        fail(source, "the source `" + shown(id) + "` says nothing",
             "name a publication");
      else
        sources[id] = source;
    for (const YAML::Node &node : list(members.at("architectures")))
      addArchitecture(node);
    std::vector<GpuData> result;
    std::set<std::string> seen;
    for (const YAML::Node &node : list(members.at("gpus"))) {
      result.push_back(gpu(node));
      if (!seen.insert(result.back().rates.name).second)
        fail(node, "a second GPU `" + shown(result.back().rates.name) + "`",
             "remove one of the two");
    }
    for (const auto &[id, source] : sources)
      if (!used.contains(id))
        fail(source, "no figure has the source `" + shown(id) + "`",
             "remove it");
    return result;
  }

private:
  YAML::Node list(const YAML::Node &node) const {
    if (!node.IsSequence() || node.size() == 0)
      fail(node, "this is not a list", "write a dash before each member");
    return node;
  }

  void useSource(const YAML::Node &node) {
    const std::string id = text(node);
    if (!sources.contains(id))
      fail(node, "no source `" + shown(id) + "`", "add it under `sources`");
    used.insert(id);
  }

  double positive(const YAML::Node &node) const {
    const double value = number(node);
    if (value <= 0 || value > 1e12)
      fail(node, "a figure is more than 0 and at most 1e12",
           "write it in the unit of the others");
    return value;
  }

  double figure(const YAML::Node &node) {
    const Members members =
        map(node, "a figure", {"value", "source"}, {"value", "source"});
    useSource(members.at("source"));
    return positive(members.at("value"));
  }

  // `texts` and all `figures` are members of the map and nothing else is.
  Members figures(const YAML::Node &node, const std::string &what,
                  std::vector<std::string> texts,
                  const std::vector<Figure> &wanted) {
    for (const Figure &one : wanted)
      texts.push_back(one.name);
    Members members = map(node, what, texts, texts);
    for (const Figure &one : wanted)
      *one.to = figure(members.at(one.name));
    return members;
  }

  void addArchitecture(const YAML::Node &node) {
    GpuData data;
    double shared = 0, warps = 0, blocks = 0;
    const Members members =
        figures(node, "an architecture", {"target", "lanes"},
                {{"shared_bytes", &shared},
                 {"registers", &data.registers},
                 {"warps", &warps},
                 {"blocks", &blocks},
                 {"issue_warps", &data.rates.issueWarps},
                 {"shared_bytes_per_cycle", &data.rates.sharedBytesPerCycle},
                 {"tensor_fma", &data.rates.tensorFma},
                 {"warpgroup_fma", &data.warpgroupFma}});
    data.rates.target = text(members.at("target"));
    data.rates.sharedBytes = whole(members, "shared_bytes", shared);
    data.rates.maxWarps = whole(members, "warps", warps);
    data.rates.maxBlocks = whole(members, "blocks", blocks);
    readLanes(members.at("lanes"), data.rates);
    if (!architectures.emplace(data.rates.target, data).second)
      fail(node, "a second architecture `" + shown(data.rates.target) + "`",
           "remove one of the two");
  }

  void readLanes(const YAML::Node &node, sim::Device &rates) {
    std::vector<std::string> known = {"source"};
    for (unsigned k = 0; k < sim::NumClasses; ++k)
      known.push_back(sim::className(sim::Class(k)));
    const Members members = map(node, "`lanes`", known, {"source"});
    useSource(members.at("source"));
    for (unsigned k = 0; k < sim::NumClasses; ++k)
      if (auto found = members.find(known[k + 1]); found != members.end())
        rates.lanes[k] = positive(found->second);
  }

  uint32_t whole(const Members &members, const std::string &name,
                 double value) const {
    if (value != double(uint32_t(value)))
      fail(members.at(name), "`" + name + "` is not a whole number of 32 bits",
           "write a whole number");
    return uint32_t(value);
  }

  GpuData gpu(const YAML::Node &node) {
    GpuData data;
    double sms = 0, power = 0;
    sim::Device rates;
    const Members members =
        figures(node, "a GPU", {"name", "model", "target"},
                {{"sms", &sms},
                 {"clock_mhz", &rates.clockMhz},
                 {"power_watts", &power},
                 {"bf16_tflops", &data.bf16Tflops},
                 {"tf32_tflops", &data.tf32Tflops},
                 {"fp32_tflops", &data.fp32Tflops},
                 {"dram_gbytes", &rates.dramGbytes},
                 {"l2_bytes", &data.l2Bytes},
                 {"l2_bytes_per_cycle", &rates.l2BytesPerCycle},
                 {"l2_latency", &data.l2Latency},
                 {"dram_latency", &data.dramLatency},
                 {"launch_cycles", &rates.launchCycles}});
    const std::string target = text(members.at("target"));
    const auto found = architectures.find(target);
    if (found == architectures.end())
      fail(members.at("target"), "no architecture `" + shown(target) + "`",
           "add it under `architectures`");
    const sim::Device &sm = found->second.rates;
    rates.target = sm.target;
    rates.maxWarps = sm.maxWarps;
    rates.maxBlocks = sm.maxBlocks;
    rates.sharedBytes = sm.sharedBytes;
    rates.lanes = sm.lanes;
    rates.tensorFma = sm.tensorFma;
    rates.issueWarps = sm.issueWarps;
    rates.sharedBytesPerCycle = sm.sharedBytesPerCycle;
    rates.name = text(members.at("name"));
    rates.sms = whole(members, "sms", sms);
    data.powerWatts = whole(members, "power_watts", power);
    data.rates = std::move(rates);
    data.warpgroupFma = found->second.warpgroupFma;
    data.registers = found->second.registers;
    data.model = text(members.at("model"));
    return data;
  }

  Members sources;
  std::set<std::string> used;
  std::map<std::string, GpuData> architectures;
};

} // namespace

std::vector<GpuData> parseGpus(std::string_view text, const std::string &name) {
  std::vector<GpuData> result;
  readYaml(
      text, name, {"list of GPUs", size_t(1) << 20, "make one of them"},
      [&](const YAML::Node &root) { result = GpuReader(name).read(root); });
  return result;
}

const std::vector<GpuData> &gpus() {
  static const std::vector<GpuData> list =
      parseGpus(devicesText, "autotune/model/devices.yaml");
  return list;
}

const GpuData &findGpu(const std::string &name) {
  std::vector<std::string> known, targets;
  for (const GpuData &gpu : gpus()) {
    if (gpu.rates.name == name || gpu.rates.target == name ||
        gpu.rates.target + "a" == name)
      return gpu;
    known.push_back(gpu.rates.name);
    if (!isListed(targets, gpu.rates.target))
      targets.push_back(gpu.rates.target);
  }
  known.insert(known.end(), targets.begin(), targets.end());
  throw Error("no data of a GPU `" + name + "`",
              nearestNameHint(name, known, "GPUs"));
}

DeviceModel deviceModel(const GpuData &gpu) {
  DeviceModel model;
  model.name = gpu.model;
  model.target = gpu.rates.target;
  model.cores = gpu.rates.sms;
  model.powerWatts = gpu.powerWatts;
  return model;
}

} // namespace tessera::tune
