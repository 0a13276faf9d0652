// language/pattern/Selection.cpp - reads the directive select(...) of a
// pattern.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "language/pattern/Selection.h"

#include "language/Evaluate.h"
#include "support/Error.h"
#include "support/Names.h"

#include <algorithm>

namespace tessera::language {
namespace {

constexpr int64_t kMaxBlock = 128, kMaxTop = 4096, kMaxInteger = 1 << 30;

class SelectionReader {
public:
  SelectionReader(const SourceRange &range,
                  const std::shared_ptr<const SourceFile> &file,
                  std::vector<Diagnostic> &diagnostics)
      : range(range), file(file), diagnostics(diagnostics) {}

  Selection read(const Call &directive) {
    const size_t before = diagnostics.size();
    bool scored = false;
    for (const Keyword &keyword : directive.keywords) {
      if (std::count(seen.begin(), seen.end(), keyword.name)) {
        report("`" + keyword.name + "` is given twice",
               "remove one of the two");
        continue;
      }
      seen.push_back(keyword.name);
      if (keyword.name == "scope")
        readScope(*keyword.value);
      else if (keyword.name == "score")
        readScorer(*keyword.value);
      else
        readInteger(keyword, outer, "select");
      scored |= keyword.name == "score";
    }
    if (diagnostics.size() == before && !scored)
      report("select(...) has no `score`", "write score=pooled(mean)");
    if (diagnostics.size() == before)
      if (const auto problem = selection.problem())
        report(problem->first, problem->second);
    return selection;
  }

private:
  void report(std::string message, std::string hint) {
    diagnostics.push_back(Diagnostic::make(DiagnosticId::InvalidHint, file,
                                           range, std::move(message),
                                           std::move(hint)));
  }

  void readScope(const Expr &value) {
    const std::string name = dump(value);
    if (name == "all")
      selection.scope = ListScope::All;
    else if (name == "kv")
      selection.scope = ListScope::KeyHead;
    else if (name == "q")
      selection.scope = ListScope::QueryHead;
    else
      report("`" + name + "` is not a scope", "write scope=q, kv or all");
  }

  void readScorer(const Expr &value) {
    const auto *call = value.as<Call>();
    const auto *name = call ? call->function->as<Name>() : nullptr;
    static const std::vector<std::string> scorers = {"pooled", "compressed",
                                                     "indexer"};
    if (!name ||
        std::find(scorers.begin(), scorers.end(), name->id) == scorers.end())
      return report("`" + dump(value) + "` is not a scorer",
                    "write pooled(mean), pooled(max), compressed(l=32, d=16) "
                    "or indexer(heads=4, dim=64)");
    if (name->id == "pooled")
      return readPooled(*call);
    selection.scorer =
        name->id == "indexer" ? Scorer::Indexer : Scorer::Compressed;
    if (!call->arguments.empty())
      report("`" + name->id + "` takes names and values",
             "write " + std::string(name->id == "indexer"
                                        ? "indexer(heads=4, dim=64)"
                                        : "compressed(l=32, d=16)"));
    const std::vector<std::string> known =
        name->id == "indexer" ? std::vector<std::string>{"heads", "dim"}
                              : std::vector<std::string>{"l", "d"};
    for (const Keyword &keyword : call->keywords)
      readInteger(keyword, known, name->id);
  }

  void readPooled(const Call &call) {
    const std::string pool = call.arguments.size() == 1 && call.keywords.empty()
                                 ? dump(*call.arguments[0])
                                 : "";
    if (pool != "mean" && pool != "max")
      return report("`pooled` takes one word", "write pooled(mean) or "
                                               "pooled(max)");
    selection.scorer = pool == "mean" ? Scorer::PooledMean : Scorer::PooledMax;
  }

  void readInteger(const Keyword &keyword,
                   const std::vector<std::string> &known,
                   const std::string &of) {
    int64_t *to =
        std::find(known.begin(), known.end(), keyword.name) != known.end()
            ? selection.find(keyword.name)
            : nullptr;
    if (!to)
      return report(of + "(...) does not take `" + keyword.name + "`",
                    nearestNameHint(keyword.name, known, "names"));
    Value value;
    try {
      value = evaluate(*keyword.value, std::make_shared<MapScope>(), file);
    } catch (const CompileError &) {
      // Reported below: None is not an integer.
    }
    const Int *number = value.get<Int>();
    if (!number || *number != Int(int64_t(*number)))
      return report("`" + keyword.name + "` must be an integer",
                    "write " + keyword.name + "=" + std::to_string(*to));
    *to = int64_t(*number);
  }

  const std::vector<std::string> outer = {"block", "top",    "first",
                                          "local", "window", "dense_below",
                                          "scope", "score"};
  const SourceRange &range;
  const std::shared_ptr<const SourceFile> &file;
  std::vector<Diagnostic> &diagnostics;
  std::vector<std::string> seen;
  Selection selection;
};

std::optional<Problem> outside(const char *name, int64_t value, int64_t least,
                               int64_t most) {
  if (value >= least && value <= most)
    return std::nullopt;
  return std::pair("`" + std::string(name) + "` is " + std::to_string(value),
                   "give a number from " + std::to_string(least) + " to " +
                       std::to_string(most));
}

} // namespace

int64_t Selection::pairs() const {
  if (streams == Streams::One)
    return 1;
  return streams == Streams::Gated ? 3 : 2;
}

int64_t Selection::lists(int64_t queryHeads, int64_t keyHeads) const {
  switch (scope) {
  case ListScope::All:
    return 1;
  case ListScope::KeyHead:
    return keyHeads;
  case ListScope::QueryHead:
    return queryHeads;
  }
  return 0;
}

std::vector<std::string> Selection::names() const {
  if (scorer == Scorer::None)
    return {"window", "l", "d"};
  if (streams == Streams::Joined)
    return {"top", "window", "l", "d", "heads", "dim"};
  std::vector<std::string> names = {"block", "top", "first", "local"};
  if (!derived)
    names.push_back("window");
  if (streams == Streams::One)
    names.push_back("dense_below");
  if (scorer == Scorer::Compressed)
    names.insert(names.end(), {"l", "d"});
  if (scorer == Scorer::Indexer)
    names.insert(names.end(), {"heads", "dim"});
  return names;
}

int64_t *Selection::find(std::string_view name) {
  const std::pair<const char *, int64_t *> integers[] = {
      {"block", &block}, {"top", &top},       {"first", &first},
      {"local", &local}, {"window", &window}, {"dense_below", &denseBelow},
      {"l", &length},    {"d", &stride},      {"heads", &heads},
      {"dim", &width}};
  for (const auto &[known, place] : integers)
    if (name == known)
      return place;
  return nullptr;
}

// Returns what is wrong with the lists of blocks.
std::optional<Problem> Selection::listProblem() const {
  const bool pooled =
      scorer == Scorer::PooledMean || scorer == Scorer::PooledMax;
  if (auto wrong = outside("block", block, 1, kMaxBlock))
    return wrong;
  if (auto wrong = outside("top", top, 1, kMaxTop))
    return wrong;
  if (auto wrong = outside("first", first, 0, top))
    return wrong;
  if (auto wrong = outside("local", local, pooled ? 1 : 0, top))
    return pooled ? std::pair(wrong->first,
                              wrong->second +
                                  ": pooled keys rank the blocks before the "
                                  "query's own, which is always selected")
                  : *wrong;
  if (first + local > top)
    return std::pair("`top` is " + std::to_string(top) + ", less than the " +
                         std::to_string(first + local) + " forced blocks",
                     std::string("raise top, or lower first or local"));
  if (streams == Streams::Joined && (block != 1 || first > 0 || local > 0))
    return std::pair(
        std::string("a list of compressed keys has blocks of more than one "
                    "key, or forced ones"),
        std::string("write block=1, first=0, local=0 in select(...)"));
  if (scorer == Scorer::Compressed && scope != ListScope::KeyHead)
    return std::pair(std::string("compressed(...) scores blocks for scope kv"),
                     std::string("write scope=kv"));
  if (scorer == Scorer::Indexer) {
    if (auto wrong = outside("heads", heads, 1, 128))
      return wrong;
    if (auto wrong = outside("dim", width, 1, 256))
      return wrong;
  }
  return std::nullopt;
}

std::optional<Problem> Selection::problem() const {
  if (scorer != Scorer::None)
    if (auto wrong = listProblem())
      return wrong;
  if (auto wrong = outside("window", window, streams == Streams::One ? 0 : 1,
                           kMaxInteger))
    return wrong;
  if (auto wrong = outside("dense_below", denseBelow, 0, kMaxInteger))
    return wrong;
  if (scorer != Scorer::Compressed && streams == Streams::One)
    return std::nullopt;
  if (auto wrong = outside("l", length, 1, kMaxBlock))
    return wrong;
  if (auto wrong = outside("d", stride, 1, length))
    return wrong;
  const bool dividesBlock = scorer != Scorer::Compressed || block % stride == 0;
  if (length % stride != 0 || !dividesBlock)
    return std::pair("`d` is " + std::to_string(stride) +
                         ", which does not divide l" +
                         (dividesBlock ? "" : " and block"),
                     std::string("choose a stride that divides ") +
                         (dividesBlock ? "it" : "both"));
  return std::nullopt;
}

Selection readSelection(const Call &directive, const SourceRange &range,
                        const std::shared_ptr<const SourceFile> &file,
                        std::vector<Diagnostic> &diagnostics) {
  return SelectionReader(range, file, diagnostics).read(directive);
}

} // namespace tessera::language
