// language/pattern/Streams.cpp - reads the directive streams(...) of a pattern.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "language/Evaluate.h"
#include "language/pattern/Selection.h"
#include "support/Error.h"

#include <algorithm>

namespace tessera::language {
namespace {

constexpr const char *kForms =
    "write streams(compressed, selected, window(512)), "
    "streams(compressed(l=128, d=128), window(128), joined) or "
    "streams(selected(compressed(l=8, d=4)), window(128), joined)";

class StreamReader {
public:
  StreamReader(const SourceRange &range,
               const std::shared_ptr<const SourceFile> &file, Selection &to,
               std::vector<Diagnostic> &diagnostics)
      : range(range), file(file), to(to), diagnostics(diagnostics) {}

  void read(const Call &directive) {
    const size_t before = diagnostics.size();
    if (to.window || to.denseBelow)
      report("select(...) of a pattern with streams has `window` or "
             "`dense_below`",
             "remove it; streams(..., window(512)) has the window");
    if (!directive.keywords.empty())
      report("streams(...) takes streams and not names", kForms);
    std::string form;
    for (const ExprPtr &argument : directive.arguments)
      form += (form.empty() ? "" : " ") + readStream(*argument);
    if (diagnostics.size() == before)
      check(form);
    if (diagnostics.size() == before)
      if (const auto problem = to.problem())
        report(problem->first, problem->second);
  }

private:
  void report(std::string message, std::string hint) {
    diagnostics.push_back(Diagnostic::make(DiagnosticId::InvalidHint, file,
                                           range, std::move(message),
                                           std::move(hint)));
  }

  // Returns the kind of stream without its numbers: "window".
  std::string readStream(const Expr &value) {
    const auto *call = value.as<Call>();
    if (!call)
      return dump(value);
    const std::string name = dump(*call->function);
    if (name == "selected" && call->arguments.size() == 1 &&
        call->keywords.empty())
      return "selected(" + readStream(*call->arguments[0]) + ")";
    if (name == "window" && call->arguments.size() == 1 &&
        call->keywords.empty()) {
      readInteger(*call->arguments[0], "window", to.window);
      return name;
    }
    if (name != "compressed" || !call->arguments.empty())
      return dump(value);
    for (const Keyword &keyword : call->keywords)
      if (keyword.name == "l" || keyword.name == "d")
        readInteger(*keyword.value, keyword.name, *to.find(keyword.name));
      else
        report("`" + keyword.name +
                   "` is not a name that compressed(...) takes",
               "write compressed(l=32, d=16)");
    return call->keywords.empty() ? name : "compressed(l, d)";
  }

  void readInteger(const Expr &expression, const std::string &name,
                   int64_t &place) {
    Value value;
    try {
      value = evaluate(expression, std::make_shared<MapScope>(), file);
    } catch (const CompileError &) {
      // Reported below: None is not an integer.
    }
    const Int *number = value.get<Int>();
    if (!number || *number != Int(int64_t(*number)))
      return report("`" + name + "` must be an integer", kForms);
    place = int64_t(*number);
  }

  void check(const std::string &form) {
    if (form == "compressed selected window") {
      if (to.scorer != Scorer::Compressed)
        return report("streams(compressed, selected, window) needs the scorer "
                      "compressed(...)",
                      "write # tessera: select(score=compressed(l=32, d=16))");
      to.streams = Streams::Gated;
    } else if (form == "compressed(l, d) window joined") {
      if (to.scorer != Scorer::None)
        return report("streams(...) without `selected` has a directive "
                      "select(...)",
                      "remove it, or write selected(compressed(l=8, d=4))");
      to.streams = Streams::Joined;
    } else if (form == "selected(compressed(l, d)) window joined") {
      if (to.scorer != Scorer::Indexer)
        return report("selected compressed keys need an indexer",
                      "write # tessera: select(block=1, top=64, scope=all, "
                      "local=0, score=indexer(heads=4, dim=64))");
      to.streams = Streams::Joined;
    } else {
      report("`" + form + "` are not streams that one pattern has", kForms);
    }
  }

  const SourceRange &range;
  const std::shared_ptr<const SourceFile> &file;
  Selection &to;
  std::vector<Diagnostic> &diagnostics;
};

} // namespace

void readStreams(const Call &directive, const SourceRange &range,
                 const std::shared_ptr<const SourceFile> &file, Selection &to,
                 std::vector<Diagnostic> &diagnostics) {
  StreamReader(range, file, to, diagnostics).read(directive);
}

} // namespace tessera::language
