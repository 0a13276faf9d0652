// trainer/Config.cpp - one list of settings for reading and printing.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "trainer/Config.h"

#include "support/Error.h"
#include "support/Names.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <fmt/format.h>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>
#include <yaml-cpp/yaml.h>

namespace tessera::trainer {
namespace {

using namespace models;

template <typename E>
struct Choice {
  const char *name;
  E value;
};

const std::vector<Choice<AttentionKind>> &choices(AttentionKind) {
  static const std::vector<Choice<AttentionKind>> list = {
      {"nsa", AttentionKind::Nsa},
      {"dense", AttentionKind::Dense},
      {"sdpa", AttentionKind::Sdpa},
      {"kernel", AttentionKind::Kernel}};
  return list;
}
const std::vector<Choice<KernelSource>> &choices(KernelSource) {
  static const std::vector<Choice<KernelSource>> list = {
      {"tessera", KernelSource::Tessera}, {"torch", KernelSource::Torch}};
  return list;
}
const std::vector<Choice<Compression>> &choices(Compression) {
  static const std::vector<Choice<Compression>> list = {
      {"avg", Compression::Average}, {"conv", Compression::Convolution}};
  return list;
}
const std::vector<Choice<GateMode>> &choices(GateMode) {
  static const std::vector<Choice<GateMode>> list = {
      {"softmax", GateMode::Softmax}, {"sigmoid", GateMode::Sigmoid}};
  return list;
}
const std::vector<Choice<GateInput>> &choices(GateInput) {
  static const std::vector<Choice<GateInput>> list = {
      {"q_mean", GateInput::QueryMean}, {"x", GateInput::Hidden}};
  return list;
}

/// Calls visit(key, field, meaning) for every setting.
template <typename C, typename V>
void visitSettings(C &c, V visit) {
  visit("attention", c.model.attention, "nsa, dense, sdpa or kernel");
  visit("attention.kernel", c.model.custom.file, "file with your kernels");
  visit("attention.fwd", c.model.custom.forward, "forward kernel of the file");
  visit("attention.bwd", c.model.custom.backward,
        "backward kernel, or the start of the names of several");
  visit("attention.constexprs", c.model.custom.constexprs,
        "for these kernels: W=16, STEP=4");
  visit("attention.learned", c.model.custom.learned,
        "tensors [tokens, heads] they take besides: GATE");
  visit("kernels", c.kernels, "tessera (compiled) or torch (plain operations)");
  visit("out", c.out, "run folder");
  visit("resume", c.resume, "auto: go on from the last checkpoint; never");
  visit("allow_changed_kernels", c.allowChangedKernels,
        "go on from a checkpoint that other kernel files made");
  visit("threads", c.threads, "CPU threads; results depend on their number");
  visit("panel", c.panel, "time NSA against SDPA at the end");
  visit("data.path", c.dataPath, "file or folder; empty: King James text");
  visit("model.dim", c.model.dim, "width of the residual stream");
  visit("model.layers", c.model.layers, "blocks");
  visit("model.heads", c.model.heads, "query heads");
  visit("model.kv_heads", c.model.kvHeads, "key/value heads (groups)");
  visit("model.key_dim", c.model.keyDim, "d_k, channels of a query or key");
  visit("model.value_dim", c.model.valueDim, "d_v, channels of a value");
  visit("model.mlp_dim", c.model.mlpDim, "hidden width of the MLP");
  visit("model.tied_head", c.model.tiedHead, "output head = embedding");
  visit("model.rope_base", c.model.ropeBase, "base of rotary positions");
  visit("model.norm_eps", c.model.normEpsilon, "epsilon of RMSNorm");
  visit("nsa.l", c.model.nsa.blockLength, "tokens of a compressed block");
  visit("nsa.d", c.model.nsa.stride, "tokens between compressed blocks");
  visit("nsa.l_sel", c.model.nsa.selectionLength, "tokens of a selected block");
  visit("nsa.n_sel", c.model.nsa.selectedBlocks, "blocks kept per query");
  visit("nsa.w", c.model.nsa.window, "tokens of the sliding window");
  visit("nsa.phi", c.model.compression, "avg or conv");
  visit("nsa.gate", c.model.gateMode, "softmax or sigmoid");
  visit("nsa.gate_input", c.model.gateInput, "q_mean or x");
  visit("nsa.gate_temperature", c.model.gateTemperature, "divides the logits");
  visit("train.steps", c.steps, "optimizer steps");
  visit("train.seq_len", c.sequenceLength, "bytes of a training window");
  visit("train.batch_size", c.batchSize, "windows of a micro-batch");
  visit("train.accumulate", c.accumulate, "micro-batches of a step");
  visit("train.lr", c.learningRate, "learning rate after the warm-up");
  visit("train.lr_final", c.finalLearningRate, "learning rate at the end");
  visit("train.warmup", c.warmup, "steps of linear warm-up");
  visit("train.weight_decay", c.weightDecay, "on matrices, not on vectors");
  visit("train.beta1", c.beta1, "AdamW");
  visit("train.beta2", c.beta2, "AdamW");
  visit("train.eps", c.epsilon, "AdamW");
  visit("train.clip", c.clip, "largest gradient norm; 0: no clipping");
  visit("train.seed", c.seed, "of weights and data order");
  visit("train.log_every", c.logEvery, "steps between log lines");
  visit("train.eval_every", c.evaluateEvery, "0: only at the end");
  visit("train.eval_windows", c.evaluateWindows,
        "held-out windows of an evaluation on the way");
  visit("train.final_windows", c.finalWindows,
        "held-out windows of that at the end; 0: all");
  visit("train.save_every", c.saveEvery, "0: only when stopped and at the end");
  visit("train.keep", c.keepCheckpoints, "checkpoints kept");
}

std::string toText(const std::string &v) { return v; }
std::string toText(bool v) { return v ? "true" : "false"; }
std::string toText(int64_t v) { return std::to_string(v); }
std::string toText(double v) { return fmt::format("{}", v); }
template <typename E>
  requires std::is_enum_v<E>
std::string toText(E v) {
  for (const auto &choice : choices(v))
    if (choice.value == v)
      return choice.name;
  return {};
}

[[noreturn]] void badValue(const std::string &key, const std::string &text,
                           const std::string &wanted) {
  throw Error(fmt::format("{} wants {}, found '{}'", key, wanted, text),
              fmt::format("for example {}", key == "resume"
                                                ? "resume=auto"
                                                : "see docs/training.md"));
}

void fromText(const std::string &, const std::string &text, std::string &out) {
  out = text;
}
void fromText(const std::string &key, const std::string &text, bool &out) {
  if (text != "true" && text != "false")
    badValue(key, text, "true or false");
  out = text == "true";
}
void fromText(const std::string &key, const std::string &text, int64_t &out) {
  const char *end = text.data() + text.size();
  const auto [stop, code] = std::from_chars(text.data(), end, out);
  if (code != std::errc() || stop != end)
    badValue(key, text, "a whole number");
}
void fromText(const std::string &key, const std::string &text, double &out) {
  const char *end = text.data() + text.size();
  const auto [stop, code] = std::from_chars(text.data(), end, out);
  if (code != std::errc() || stop != end || !std::isfinite(out))
    badValue(key, text, "a number");
}
template <typename E>
  requires std::is_enum_v<E>
void fromText(const std::string &key, const std::string &text, E &out) {
  std::string names;
  for (const auto &choice : choices(out)) {
    if (text == choice.name) {
      out = choice.value;
      return;
    }
    names += (names.empty() ? "" : " or ") + std::string(choice.name);
  }
  badValue(key, text, names);
}

/// A value and where it was written, for messages.
struct Entry {
  std::string text, place;
};

void flatten(const YAML::Node &node, const std::string &prefix,
             const std::string &file, std::map<std::string, Entry> &out) {
  for (const auto &item : node) {
    const std::string key = prefix + item.first.as<std::string>();
    const std::string place =
        fmt::format("{}:{}", file, item.first.Mark().line + 1);
    // An alias may also lead back to where it stands.
    if (std::count(key.begin(), key.end(), '.') > 8)
      throw Error(
          fmt::format("{}: {} is nested deeper than any setting", place, key),
          "docs/training.md lists every setting");
    if (item.second.IsMap())
      flatten(item.second, key + ".", file, out);
    else if (item.second.IsScalar() || item.second.IsNull())
      out[key] = {item.second.IsNull() ? "" : item.second.Scalar(), place};
    else
      throw Error(fmt::format("{}: {} holds a list, but no setting takes one",
                              place, key),
                  "write one value");
  }
}

void apply(Config &config, std::map<std::string, Entry> entries) {
  std::vector<std::string> known;
  visitSettings(config, [&](const char *key, auto &field, const char *) {
    known.push_back(key);
    const auto found = entries.find(key);
    if (found == entries.end())
      return;
    try {
      fromText(key, found->second.text, field);
    } catch (const Error &e) {
      throw Error(fmt::format("{}: {}", found->second.place, e.message),
                  e.hint);
    }
    entries.erase(found);
  });
  if (entries.empty())
    return;
  const auto &[key, entry] = *entries.begin();
  const std::string nearest = nearestName(key, known);
  throw Error(fmt::format("{}: unknown setting '{}'", entry.place, key),
              nearest.empty() ? "docs/training.md lists every setting"
                              : fmt::format("did you mean '{}'?", nearest));
}

void requireRange(const char *key, double value, double low, double high) {
  if (!(value >= low && value <= high))
    throw Error(fmt::format("{} must be between {} and {}, found {}", key, low,
                            high, value),
                fmt::format("set {} inside that range", key));
}

/// `attention: {kernel: ...}` needs no kind beside it; another kind is a
/// contradiction.
void settleAttention(Config &c, bool kindGiven) {
  const CustomAttention &custom = c.model.custom;
  const bool any = !custom.file.empty() || !custom.forward.empty() ||
                   !custom.backward.empty() || !custom.constexprs.empty() ||
                   !custom.learned.empty();
  if (!any)
    return;
  if (kindGiven && c.model.attention != AttentionKind::Kernel)
    throw Error(fmt::format("attention is {}, but attention.kernel is {}",
                            toText(c.model.attention), custom.file),
                "leave one of the two away");
  c.model.attention = AttentionKind::Kernel;
}

void validateRun(const Config &c) {
  validate(c.model);
  if (c.model.attention == AttentionKind::Kernel &&
      c.kernels == KernelSource::Torch)
    throw Error("attention.kernel needs compiled kernels, but kernels is torch",
                "set kernels: tessera");
  constexpr double many = 1e9;
  requireRange("train.steps", double(c.steps), 1, many);
  requireRange("train.seq_len", double(c.sequenceLength), 2, 1 << 20);
  requireRange("train.batch_size", double(c.batchSize), 1, 1 << 16);
  requireRange("train.accumulate", double(c.accumulate), 1, 1 << 16);
  requireRange("train.lr", c.learningRate, 0, 100);
  requireRange("train.lr_final", c.finalLearningRate, 0, 100);
  requireRange("train.warmup", double(c.warmup), 0, many);
  requireRange("train.weight_decay", c.weightDecay, 0, 100);
  requireRange("train.beta1", c.beta1, 0, 0.999999);
  requireRange("train.beta2", c.beta2, 0, 0.999999);
  requireRange("train.eps", c.epsilon, 1e-30, 1);
  requireRange("train.clip", c.clip, 0, many);
  requireRange("train.log_every", double(c.logEvery), 1, many);
  requireRange("train.eval_every", double(c.evaluateEvery), 0, many);
  requireRange("train.eval_windows", double(c.evaluateWindows), 1, many);
  requireRange("train.final_windows", double(c.finalWindows), 0, many);
  requireRange("train.save_every", double(c.saveEvery), 0, many);
  requireRange("train.keep", double(c.keepCheckpoints), 1, many);
  requireRange("threads", double(c.threads), 1, 1024);
  if (c.resume != "auto" && c.resume != "never")
    badValue("resume", c.resume, "auto or never");
  if (c.out.empty())
    throw Error("out is empty",
                "name a run folder, for example out=runs/first");
}

} // namespace

Config parseConfig(const std::string &text, const std::string &name,
                   const std::vector<std::string> &overrides) {
  std::map<std::string, Entry> entries;
  try {
    const YAML::Node root = YAML::Load(text);
    if (!root.IsMap() && !root.IsNull())
      throw Error(name + ": a config is a map of settings",
                  "write lines such as 'attention: nsa'");
    flatten(root, "", name, entries);
  } catch (const YAML::Exception &e) {
    throw Error(fmt::format("{}:{}: {}", name, e.mark.line + 1, e.msg),
                "indent with spaces, one 'key: value' a line");
  }
  for (const std::string &o : overrides) {
    const size_t equal = o.find('=');
    if (equal == std::string::npos || equal == 0)
      throw Error(fmt::format("'{}' is no key=value", o),
                  "for example train.steps=100");
    entries[o.substr(0, equal)] = {o.substr(equal + 1), "command line"};
  }
  Config config;
  const bool kindGiven = entries.count("attention") != 0;
  apply(config, std::move(entries));
  settleAttention(config, kindGiven);
  validateRun(config);
  return config;
}

Config readConfig(const std::string &file,
                  const std::vector<std::string> &overrides) {
  if (file.empty())
    return parseConfig("", "defaults", overrides);
  std::ifstream in(file);
  std::ostringstream text;
  if (!in || !(text << in.rdbuf()))
    throw Error(fmt::format("cannot read the config {}", file),
                "configs/quickstart.yaml is one to start from");
  return parseConfig(text.str(), file, overrides);
}

nlohmann::json toJson(const Config &config) {
  nlohmann::json json;
  visitSettings(config, [&](const char *key, const auto &field, const char *) {
    if constexpr (std::is_enum_v<std::decay_t<decltype(field)>>)
      json[key] = toText(field);
    else
      json[key] = field;
  });
  return json;
}

std::string describe(const Config &config) {
  std::string text;
  visitSettings(
      config, [&](const char *key, const auto &field, const char *meaning) {
        text += fmt::format("{:<22} {:<10} {}\n", key, toText(field), meaning);
      });
  return text;
}

} // namespace tessera::trainer
