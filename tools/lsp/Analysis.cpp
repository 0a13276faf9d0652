// tools/lsp/Analysis.cpp - diagnostics and types of a kernel file that is being
// edited.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "tools/lsp/Analysis.h"

#include "support/Error.h"
#include "support/Json.h"
#include "support/Lists.h"
#include "tools/compile/ExampleTypes.h"
#include "tools/compile/Jobs.h"

#include <algorithm>
#include <cctype>
#include <set>
#include <tuple>

namespace tessera::tools::lsp {

namespace {

class Analyst {
public:
  Analyst(std::string path, const AnalysisOptions &options,
          const Compile &compile)
      : path(std::move(path)), options(options), compile(compile) {}

  Analysis run(const std::string &text, const language::FileReader &reader) {
    lines = SourceFile(path, text).lineCount();
    guarded([&] {
      const auto program = language::Program::load(path, text, reader);
      for (const language::StmtPtr &statement : program->main().body)
        if (const auto *function = statement->as<language::FunctionDef>();
            function && function->isJit)
          guarded([&] { addKernel(*program, *function); });
    });
    return std::move(analysis);
  }

private:
  // Converts errors that a file can cause to findings.
  template <typename Action>
  void guarded(const Action &action) {
    try {
      action();
    } catch (const CompileError &error) {
      for (const Diagnostic &diagnostic : error.diagnostics)
        add({severityOf(diagnostic.severity),
             diagnostic.file ? diagnostic.file->path() : path, diagnostic.range,
             diagnosticName(diagnostic.id),
             withHint(diagnostic.message, diagnostic.hint)});
      if (error.diagnostics.empty())
        add({Finding::Severity::Error, path, {}, "", error.message});
    } catch (const std::exception &error) {
      add({Finding::Severity::Error, path, {}, "", error.what()});
    }
  }

  void addKernel(const language::Program &program,
                 const language::FunctionDef &function) {
    const language::KernelInfo info =
        language::describeKernel(program, function);
    std::vector<std::string> names =
        namesOf(info.hints.instances, &language::Instance::name);
    if (std::count(names.begin(), names.end(), options.instance))
      names = {options.instance};
    else if (!options.allInstances && names.size() > 1)
      names.resize(1);
    if (names.empty() && !isHelper(program, function))
      return add({Finding::Severity::Hint, path, function.nameRange, "",
                  "types are not known: name them above the kernel, for "
                  "example: # tessera: instance NAME(" +
                      exampleInstance(info) + ")"});
    JobOptions job;
    job.file = path;
    job.kernel = function.name;
    job.target = options.target;
    for (const std::string &name : names) {
      job.instances = {name};
      guarded([&] { addResult(compileOne(job, program)); });
    }
  }

  // True if another function of the file calls the function or an instance
  // passes it. Its types then come from there.
  static bool isHelper(const language::Program &program,
                       const language::FunctionDef &function) {
    const std::string &text = program.main().file->text();
    for (const char *end : {",", ")"})
      if (text.find("=" + function.name + end) != text.npos)
        return true;
    const std::string call = function.name + "(";
    size_t count = 0;
    for (size_t at = text.find(call); at != text.npos;
         at = text.find(call, at + 1))
      count += at == 0 ||
               (!std::isalnum(uint8_t(text[at - 1])) && text[at - 1] != '_');
    return count > 1; // its definition counts once
  }

  language::CompileResult compileOne(const JobOptions &job,
                                     const language::Program &program) {
    language::CompileRequest request = makeJobs(job, program).at(0).request;
    request.frontEndOnly = true;
    return compile(request);
  }

  void addResult(const language::CompileResult &result) {
    for (const language::DiagnosticRecord &record : result.diagnostics)
      add({record.severity == "error"     ? Finding::Severity::Error
           : record.severity == "warning" ? Finding::Severity::Warning
                                          : Finding::Severity::Information,
           record.file.empty() ? path : record.file,
           {record.line, record.column, record.endLine, record.endColumn},
           record.id,
           withHint(record.message, record.hint)});
    const auto stage = result.stages.find("values");
    if (stage != result.stages.end())
      addValues(parseJson(stage->second, "the stage values"));
  }

  void addValues(const Json &all) {
    for (const Json &one : all) {
      const Json &range = one.at("range");
      KnownValue value;
      value.range = {range.at(0), range.at(1), range.at(2), range.at(3)};
      value.values = one.at("values").get<std::vector<std::string>>();
      if (one.contains("defined")) {
        value.definedIn = one["defined"].at("file");
        value.defined.line = one["defined"].at("line");
        value.defined.column = one["defined"].at("column");
      }
      const std::string file = one.at("file");
      // If there are several instances, the values of the first are shown.
      if (known
              .insert({file, value.range.line, value.range.column,
                       value.range.endLine, value.range.endColumn})
              .second)
        analysis.values[file].push_back(std::move(value));
    }
  }

  // Removes duplicates: several instances report the same finding.
  void add(Finding finding) {
    // A line that tessera derived from a pattern is not in the edited text.
    if (finding.path == path && finding.range.line > lines) {
      finding.message =
          "line " + std::to_string(finding.range.line) +
          " of the derived text (tessera compile --emit pattern " + path +
          "): " + finding.message;
      finding.range = {};
    }
    if (said.insert({finding.path, finding.range.line, finding.range.column,
                     finding.message})
            .second)
      analysis.findings.push_back(std::move(finding));
  }

  static Finding::Severity severityOf(Severity severity) {
    return severity == Severity::Error     ? Finding::Severity::Error
           : severity == Severity::Warning ? Finding::Severity::Warning
                                           : Finding::Severity::Information;
  }
  static std::string withHint(const std::string &message,
                              const std::string &hint) {
    return hint.empty() ? message : message + "\n" + hint;
  }

  const std::string path;
  uint32_t lines = 0; // of the text
  const AnalysisOptions &options;
  const Compile &compile;
  Analysis analysis;
  std::set<std::tuple<std::string, uint32_t, uint32_t, std::string>> said;
  std::set<std::tuple<std::string, uint32_t, uint32_t, uint32_t, uint32_t>>
      known;
};

} // namespace

Analysis analyze(const std::string &path, const std::string &text,
                 const AnalysisOptions &options,
                 const language::FileReader &reader, const Compile &compile) {
  return Analyst(path, options, compile).run(text, reader);
}

const KnownValue *valueAt(const Analysis &analysis, const std::string &path,
                          uint32_t line, uint32_t column) {
  const auto file = analysis.values.find(path);
  if (file == analysis.values.end())
    return nullptr;
  const KnownValue *best = nullptr;
  const auto size = [](const SourceRange &range) {
    return std::pair(range.endLine - range.line,
                     int64_t(range.endColumn) - int64_t(range.column));
  };
  for (const KnownValue &value : file->second) {
    const SourceRange &range = value.range;
    const std::pair at(line, column);
    if (at < std::pair(range.line, range.column) ||
        at >= std::pair(range.endLine, range.endColumn))
      continue;
    if (!best || size(range) < size(best->range))
      best = &value;
  }
  return best;
}

} // namespace tessera::tools::lsp
