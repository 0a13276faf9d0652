// trainer/settings/AttentionSettings.cpp - resolves the settings of attention
// to a kind and parameters for each layer, and writes them back.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "trainer/settings/AttentionSettings.h"

#include "runtime/launch/FindFile.h"
#include "runtime/launch/PatternFile.h"
#include "support/Error.h"
#include "support/Names.h"
#include "support/Text.h"
#include "trainer/settings/PatternParameters.h"
#include "trainer/settings/SequenceSources.h"
#include "trainer/settings/Setting.h"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <optional>
#include <tuple>
#include <utility>

namespace tessera::trainer {
namespace {

using models::AttentionKind;
using models::CustomAttention;
using models::LayerKind;
using runtime::PatternFile;

constexpr std::pair<const char *, AttentionKind> builtIn[] = {
    {"nsa", AttentionKind::Nsa},
    {"dense", AttentionKind::Dense},
    {"sdpa", AttentionKind::Sdpa}};

std::optional<AttentionKind> builtInKind(const std::string &word) {
  for (const auto &[name, kind] : builtIn)
    if (word == name)
      return kind;
  return std::nullopt;
}

/// Returns the entries of "[a, b]" or "a, b".
std::vector<std::string> entriesOf(std::string text) {
  const size_t first = text.find_first_not_of(' ');
  const size_t last = text.find_last_not_of(' ');
  if (first != std::string::npos && text[first] == '[' && text[last] == ']')
    text = text.substr(first + 1, last - first - 1);
  std::vector<std::string> entries = splitList(text, ',');
  if (std::find(entries.begin(), entries.end(), "") != entries.end())
    throw Error(fmt::format("attention has an empty entry: '{}'", text),
                "write attention: [window, window, dense]");
  return entries;
}

/// Returns the file that an entry names: a path, or a pattern of the library.
std::string patternPath(const std::string &entry) {
  if (entry.ends_with(".py") || entry.find('/') != std::string::npos)
    return entry;
  std::vector<std::string> known = runtime::libraryPatterns();
  if (std::find(known.begin(), known.end(), entry) != known.end())
    return "kernels/patterns/" + entry + ".py";
  for (const auto &[word, kind] : builtIn)
    known.emplace_back(word);
  const std::string nearest = nearestName(entry, known);
  throw Error(fmt::format("attention names `{}`, which is not nsa or dense or "
                          "sdpa, nor a pattern of the library",
                          entry),
              (nearest.empty() ? std::string()
                               : fmt::format("did you mean `{}`? ", nearest)) +
                  fmt::format("the library has {}; a file is named by its "
                              "path, such as my/{}.py",
                              fmt::join(runtime::libraryPatterns(), ", "),
                              entry));
}

/// Returns the path that settings store for a file: the relative path of a file
/// of this installation, else an absolute path, which is valid in every current
/// folder.
std::string pathOfEverywhere(const std::string &found) {
  const std::string ours = runtime::nameAmongOurs(found);
  return ours.empty() ? found : ours;
}

/// Returns the files and their parameters, for messages:
/// "kernels/patterns/window.py (window), my.py (no parameters)".
std::string knownParameters(const std::vector<const PatternFile *> &patterns) {
  std::vector<std::string> files;
  for (const PatternFile *pattern : patterns) {
    std::vector<std::string> names;
    for (const auto &p : pattern->parameters)
      names.push_back(p.name);
    std::string text =
        fmt::format("{} ({})", pathOfEverywhere(pattern->path),
                    names.empty() ? "no parameters"
                                  : fmt::format("{}", fmt::join(names, ", ")));
    if (std::find(files.begin(), files.end(), text) == files.end())
      files.push_back(std::move(text));
  }
  return fmt::format("{}", fmt::join(files, ", "));
}

/// Throws Error if none of the patterns has a parameter of `given`.
void requireKnown(const ParameterTexts &given,
                  const std::vector<const PatternFile *> &patterns) {
  for (const auto &[name, value] : given) {
    std::vector<std::string> known;
    for (const PatternFile *pattern : patterns)
      for (const auto &p : pattern->parameters)
        known.push_back(p.name);
    if (std::find(known.begin(), known.end(), name) != known.end())
      continue;
    const std::string nearest = nearestName(name, known);
    throw Error(
        fmt::format("attention_params sets `{}`, but the parameters are: {}",
                    name,
                    patterns.empty() ? "none" : knownParameters(patterns)),
        nearest.empty() ? fmt::format("leave `{}` away", name)
                        : fmt::format("did you mean `{}`?", nearest));
  }
}

/// Returns the spelling of settings: "prefix" for "PREFIX".
std::string inSmallLetters(std::string name) {
  for (char &c : name)
    c = char(std::tolower(static_cast<unsigned char>(c)));
  return name;
}

/// Throws Error if a pattern reads a per-sequence value without a source, or if
/// no pattern reads the value of a source.
void checkSources(const Config &c,
                  const std::vector<const PatternFile *> &patterns) {
  std::vector<std::string> given, taken;
  for (const SequenceSource &s : readSequenceSources(c.perSequence))
    given.push_back(inCapitals(s.name));
  for (const PatternFile *pattern : patterns)
    for (const std::string &name : pattern->perSequence) {
      taken.push_back(name);
      if (std::find(given.begin(), given.end(), name) == given.end())
        throw Error(
            fmt::format("{} takes a value of each sequence, `{}`, and "
                        "attention.per_sequence does not set it",
                        pathOfEverywhere(pattern->path), inSmallLetters(name)),
            "for example attention.per_sequence=" + inSmallLetters(name) +
                "=uniform (docs/patterns.md)");
    }
  for (const SequenceSource &s : readSequenceSources(c.perSequence))
    if (std::find(taken.begin(), taken.end(), inCapitals(s.name)) ==
        taken.end())
      throw Error(fmt::format("attention.per_sequence sets `{}`, which no "
                              "pattern of attention takes",
                              s.name),
                  taken.empty()
                      ? std::string("leave it away")
                      : fmt::format("the patterns take {}",
                                    inSmallLetters(fmt::format(
                                        "{}", fmt::join(taken, ", ")))));
}

/// Normalizes the spelling of the sources, and lists their names in the model's
/// settings.
void settleSources(Config &c) {
  const auto sources = readSequenceSources(c.perSequence);
  c.perSequence = sourcesText(sources);
  c.model.sequenceValues.clear();
  for (const SequenceSource &s : sources)
    c.model.sequenceValues.push_back(inCapitals(s.name));
}

/// Throws Error if settings select kernels of a file in addition to a pattern.
void refuseKernels(const Config &c) {
  const CustomAttention &custom = c.model.custom;
  for (const auto &[key, value] :
       {std::pair("attention.kernel", &custom.file),
        std::pair("attention.fwd", &custom.forward),
        std::pair("attention.bwd", &custom.backward),
        std::pair("attention.learned", &custom.learned)})
    if (!value->empty())
      throw Error(fmt::format("{} is '{}', but attention is {}", key, *value,
                              custom.pattern),
                  "leave one of the two away");
  if (c.origins.contains("attention") &&
      c.model.attention != AttentionKind::Kernel)
    throw Error(fmt::format("attention is {}, but attention.pattern is {}",
                            valueText(*findSetting("attention"), c),
                            custom.pattern),
                "leave one of the two away");
}

/// Returns one group of parameters for each entry. A single group applies to
/// all entries, unless it is in a list: "[window=8]".
std::vector<std::string> groupsOf(std::string text, size_t entries) {
  const bool listed = text.starts_with('[') && text.ends_with(']');
  if (listed)
    text = text.substr(1, text.size() - 2);
  std::vector<std::string> groups = splitList(text, ';');
  if (groups.size() == 1 && !listed)
    groups.resize(entries, groups[0]);
  if (groups.size() != entries)
    throw Error(fmt::format("attention_params is a list of {} map{}, but "
                            "attention has {} entr{}",
                            groups.size(), groups.size() == 1 ? "" : "s",
                            entries, entries == 1 ? "y" : "ies"),
                "write one map for all, attention_params: {window: 32}, or a "
                "list with a map for each entry of attention");
  return groups;
}

LayerKind patternLayer(const std::string &path, const std::string &parameters,
                       const std::string &headLearned) {
  CustomAttention custom;
  custom.pattern = custom.file = path;
  custom.forward = std::filesystem::path(path).stem().string();
  custom.backward = custom.forward + "_bwd";
  custom.constexprs = parameters;
  custom.headLearned = headLearned;
  return {AttentionKind::Kernel, custom};
}

/// Reads the files of patterns. Returns the kind of each entry, with complete
/// parameters.
std::vector<LayerKind> readEntries(const Config &c) {
  const std::vector<std::string> entries = entriesOf(c.model.custom.pattern);
  const std::string &parameters = c.model.custom.constexprs;
  const bool shared =
      !parameters.starts_with('[') && splitList(parameters, ';').size() == 1;
  const std::vector<std::string> groups = groupsOf(parameters, entries.size());
  std::vector<std::shared_ptr<const PatternFile>> files(entries.size());
  std::vector<const PatternFile *> patterns;
  for (size_t i = 0; i < entries.size(); ++i)
    if (!builtInKind(entries[i])) {
      files[i] = runtime::readPatternFile(patternPath(entries[i]));
      patterns.push_back(files[i].get());
    }
  if (shared)
    requireKnown(readParameters(groups[0]), patterns);
  checkSources(c, patterns);
  std::vector<LayerKind> kinds;
  for (size_t i = 0; i < entries.size(); ++i) {
    const ParameterTexts given = readParameters(groups[i]);
    if (!shared)
      requireKnown(given, files[i] ? std::vector{files[i].get()}
                                   : std::vector<const PatternFile *>{});
    if (!files[i]) {
      kinds.push_back({*builtInKind(entries[i]), {}});
      continue;
    }
    const std::string complete = completeParameters(*files[i], given);
    runtime::checkParameters(*files[i], complete);
    kinds.push_back(
        patternLayer(pathOfEverywhere(files[i]->path), complete,
                     fmt::format("{}", fmt::join(files[i]->learned, ","))));
  }
  return kinds;
}

/// Returns the kind of each entry from stored settings, without reading files.
std::vector<LayerKind> storedEntries(const Config &c) {
  const std::vector<std::string> entries = entriesOf(c.model.custom.pattern);
  const auto groups = groupsOf(c.model.custom.constexprs, entries.size());
  const auto learned = groupsOf(c.model.custom.headLearned, entries.size());
  std::vector<LayerKind> kinds;
  for (size_t i = 0; i < entries.size(); ++i)
    if (const auto kind = builtInKind(entries[i]))
      kinds.push_back({*kind, {}});
    else
      kinds.push_back(patternLayer(entries[i], groups[i], learned[i]));
  return kinds;
}

std::string wordOf(AttentionKind kind) {
  for (const auto &[word, value] : builtIn)
    if (kind == value)
      return word;
  return "kernel";
}

/// Writes the settings that describe the kinds.
void writeEntries(Config &c) {
  std::vector<std::string> groups, learned;
  for (const LayerKind &layer : c.model.kinds) {
    groups.push_back(layer.custom.constexprs);
    learned.push_back(layer.custom.headLearned);
  }
  c.model.custom = {};
  c.model.custom.pattern = attentionList(c.model.kinds);
  c.model.custom.constexprs = fmt::format("{}", fmt::join(groups, "; "));
  c.model.custom.headLearned = fmt::format("{}", fmt::join(learned, "; "));
}

/// Sets the NSA geometry to that of the first pattern whose streams have gates.
/// Does nothing if a layer is built-in NSA, which uses the settings nsa.*.
void settleSizes(Config &c) {
  const auto &kinds = c.model.kinds;
  if (std::any_of(kinds.begin(), kinds.end(), [](const LayerKind &layer) {
        return layer.kind == AttentionKind::Nsa;
      }))
    return;
  for (size_t i = 0; i < kinds.size(); ++i) {
    const auto sizes = c.model.builtAttentionOf(int64_t(i)).nsa;
    if (!sizes)
      continue;
    models::NsaGeometry &given = c.model.nsa;
    const std::tuple<const char *, int64_t, int64_t> all[] = {
        {"nsa.l", given.blockLength, sizes->blockLength},
        {"nsa.d", given.stride, sizes->stride},
        {"nsa.l_sel", given.selectionLength, sizes->selectionLength},
        {"nsa.n_sel", given.selectedBlocks, sizes->selectedBlocks},
        {"nsa.w", given.window, sizes->window}};
    for (const auto &[key, set, wanted] : all)
      if (set != wanted && c.origins.contains(key))
        throw Error(fmt::format("{} is set, but {} has its sizes", key,
                                kinds[i].custom.pattern),
                    "set its parameters with attention_params");
    c.model.nsa = *sizes;
    return;
  }
}

void settlePatterns(Config &c, AttentionOrigin origin) {
  if (origin == AttentionOrigin::Stored) {
    // Checkpoints may also contain settings that the pattern implies.
    CustomAttention &custom = c.model.custom;
    for (std::string *text :
         {&custom.file, &custom.forward, &custom.backward, &custom.learned})
      text->clear();
    c.model.kinds = storedEntries(c);
  } else {
    refuseKernels(c);
    c.model.kinds = readEntries(c);
    settleSizes(c);
  }
  writeEntries(c);
  c.model.attention = AttentionKind::Kernel;
  if (c.model.kinds.size() == 1 &&
      c.model.kinds[0].kind != AttentionKind::Kernel) { // attention=[dense]
    c.model.attention = c.model.kinds[0].kind;
    c.model.kinds.clear();
    c.model.custom = {};
  }
}

/// Returns a description such as "window(window=8)" or "dense".
std::string layerText(const LayerKind &layer) {
  if (layer.kind != AttentionKind::Kernel)
    return wordOf(layer.kind);
  return fmt::format("{}({})", layer.custom.forward, layer.custom.constexprs);
}

bool sameKind(const LayerKind &one, const LayerKind &other) {
  return one.kind == other.kind && one.custom.forward == other.custom.forward;
}

} // namespace

std::string attentionList(const std::vector<LayerKind> &kinds) {
  std::vector<std::string> entries;
  for (const LayerKind &layer : kinds)
    entries.push_back(layer.kind == AttentionKind::Kernel ? layer.custom.pattern
                                                          : wordOf(layer.kind));
  return fmt::format("{}", fmt::join(entries, ", "));
}

std::string keyOfAttention(const std::string &text) {
  return text == "kernel" || text.empty() || builtInKind(text)
             ? "attention"
             : "attention.pattern";
}

bool isAttentionSetting(const std::string &key) {
  return key == "attention" || key.starts_with("attention.");
}

std::string attentionText(const YAML::Node &node) {
  if (node.IsScalar() || node.IsNull())
    return node.IsNull() ? "" : node.Scalar();
  std::vector<std::string> items;
  if (node.IsMap()) {
    for (const auto &item : node)
      items.push_back(item.first.as<std::string>() + "=" +
                      (item.second.IsScalar() ? item.second.Scalar() : "?"));
    return fmt::format("{}", fmt::join(items, ", "));
  }
  bool ofMaps = false;
  for (const YAML::Node &item : node) {
    ofMaps = ofMaps || !item.IsScalar() ||
             item.Scalar().find_first_of("=:") != std::string::npos;
    items.push_back(attentionText(item));
  }
  const std::string text =
      fmt::format("{}", fmt::join(items, ofMaps ? "; " : ", "));
  return ofMaps && items.size() == 1 ? "[" + text + "]" : text;
}

namespace {

/// Returns the settings of attention kernels that are set, with their verb:
/// "attention_params is", "attention.kernel and attention.learned are".
std::string kernelSettings(const CustomAttention &custom) {
  std::vector<std::string> names;
  const std::pair<const char *, const std::string &> all[] = {
      {"attention.kernel", custom.file},
      {"attention.fwd", custom.forward},
      {"attention.bwd", custom.backward},
      {"attention_params", custom.constexprs},
      {"attention.learned", custom.learned}};
  for (const auto &[name, value] : all)
    if (!value.empty())
      names.push_back(name);
  return fmt::format("{} {}", fmt::join(names, " and "),
                     names.size() == 1 ? "is" : "are");
}

} // namespace

void settleAttention(Config &c, AttentionOrigin origin) {
  c.model.kinds.clear();
  CustomAttention &custom = c.model.custom;
  settleSources(c);
  if (!custom.pattern.empty())
    return settlePatterns(c, origin);
  checkSources(c, {});
  const bool any = !custom.file.empty() || !custom.forward.empty() ||
                   !custom.backward.empty() || !custom.constexprs.empty() ||
                   !custom.learned.empty();
  if (!any)
    return;
  // `attention: {kernel: ...}` needs no kind; another kind is a contradiction.
  if (c.origins.contains("attention") &&
      c.model.attention != AttentionKind::Kernel)
    throw Error(fmt::format("attention is {}, and {} set",
                            valueText(*findSetting("attention"), c),
                            kernelSettings(custom)),
                "leave that away, or name a kernel or pattern as attention");
  c.model.attention = AttentionKind::Kernel;
  custom.constexprs = groupsOf(custom.constexprs, 1)[0];
  readParameters(custom.constexprs, "attention.constexprs");
  if (origin == AttentionOrigin::User && runtime::isKernelFile(custom.file))
    custom.file = pathOfEverywhere(runtime::findKernelFile(custom.file));
}

bool sameAttentionKinds(const Config &earlier, const Config &config) {
  for (int64_t i = 0; i < std::min(earlier.model.layers, config.model.layers);
       ++i)
    if (!sameKind(earlier.model.attentionOf(i), config.model.attentionOf(i)))
      return false;
  return true;
}

std::string attentionDifference(const Config &earlier, const Config &config) {
  for (int64_t i = 0; i < std::min(earlier.model.layers, config.model.layers);
       ++i) {
    LayerKind before = earlier.model.attentionOf(i);
    const LayerKind now = config.model.attentionOf(i);
    // Checkpoints may contain only the parameters that the user gave.
    if (sameKind(before, now) && !now.custom.pattern.empty())
      before.custom.constexprs =
          completeParameters(*runtime::readPatternFile(now.custom.pattern),
                             readParameters(before.custom.constexprs));
    if (!sameKind(before, now) ||
        !sameParameters(before.custom.constexprs, now.custom.constexprs))
      return fmt::format("layer {}: {}, this run has {}", i, layerText(before),
                         layerText(now));
  }
  if (earlier.perSequence != config.perSequence)
    return fmt::format("attention.per_sequence={}, this run has {}",
                       earlier.perSequence, config.perSequence);
  return "";
}

} // namespace tessera::trainer
