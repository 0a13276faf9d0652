// tools/compile/SelectedJobs.cpp - makes compile jobs for the kernels of a
// pattern with select(...).
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "tools/compile/SelectedJobs.h"

#include "language/Evaluate.h"
#include "language/Parser.h"
#include "language/pattern/Pattern.h"
#include "runtime/Kernel.h"
#include "support/Error.h"
#include "support/Lists.h"
#include "support/Names.h"
#include "tools/compile/Launches.h"

#include <algorithm>
#include <map>

namespace tessera::tools {

using language::CompileRequest;

namespace {

// Listing starts the training program, so a process lists each target once.
const std::vector<CompileRequest> &listed(const LaunchSource &source,
                                          const std::string &target) {
  static std::map<std::vector<std::string>, std::vector<CompileRequest>> known;
  std::vector<std::string> key = source.arguments();
  key.push_back(target);
  auto found = known.find(key);
  if (found == known.end())
    found = known.emplace(key, listLaunches(source, target, "none")).first;
  return found->second;
}

std::vector<Job> allJobs(const LaunchSource &source,
                         const std::string &target) {
  std::vector<Job> jobs;
  std::map<std::string, int> forms;
  for (const CompileRequest &request : listed(source, target)) {
    const int form = ++forms[request.kernel];
    jobs.push_back({request.kernel +
                        (form > 1 ? "_" + std::to_string(form) : std::string()),
                    request});
  }
  return jobs;
}

void define(Job &job, const std::string &text) {
  const auto [name, value] = nameAndValue(text, "-D");
  std::vector<std::string> known;
  for (language::Argument &argument : job.request.args) {
    if (!argument.isConstexpr())
      continue;
    known.push_back(argument.name);
    if (argument.name != name)
      continue;
    const auto file = std::make_shared<SourceFile>("-D " + name, value);
    argument.value =
        language::evaluate(*language::parseExpression(file),
                           std::make_shared<language::MapScope>(), file);
    return;
  }
  throw Error("kernel `" + job.name + "` has no constexpr `" + name + "`",
              nearestNameHint(name, known, "constexprs"));
}

} // namespace

bool selectsBlocks(const language::Program &program) {
  const language::Module &module = program.main();
  if (!language::isPattern(module.file->text()))
    return false;
  std::vector<Diagnostic> ignored; // the program has been loaded
  return language::readPattern(module, ignored).selection.has_value();
}

std::vector<Job> selectedJobs(const JobOptions &options,
                              const language::Program &program) {
  if (!options.signature.empty())
    throw Error(options.file + " selects blocks: its kernels have the types "
                               "that its op gives them",
                "leave --signature away; --set runtime.precision=bf16 chooses "
                "the type");
  const LaunchSource source{{}, program.main().file->path(), options.settings};
  std::vector<Job> jobs =
      allJobs(source, options.target.empty() ? hostTarget() : options.target);
  const std::vector<std::string> known = namesOf(jobs, &Job::name);
  for (const std::string &wanted : options.instances)
    if (wanted != "all" && !isListed(known, wanted))
      throw Error(options.file + " does not launch a kernel `" + wanted + "`",
                  nearestNameHint(wanted, known, "kernels"));
  if (!options.instances.empty() && !isListed(options.instances, "all"))
    std::erase_if(jobs, [&](const Job &job) {
      return !isListed(options.instances, job.name);
    });
  for (Job &job : jobs) {
    for (const std::string &text : options.defines)
      define(job, text);
    language::CompileOptions &compile = job.request.options;
    compile.numWarps = options.numWarps ? options.numWarps : compile.numWarps;
    compile.numStages =
        options.numStages ? options.numStages : compile.numStages;
  }
  return jobs;
}

} // namespace tessera::tools
