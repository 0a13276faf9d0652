// runtime/pack/Pack.cpp - a pack that launches take code from.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "runtime/pack/Pack.h"

#include "support/BuildId.h"
#include "support/CpuTarget.h"
#include "support/Error.h"
#include "support/Options.h"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <memory>
#include <set>

namespace tessera::runtime {

using language::CompileRequest;

Pack::Pack(const std::filesystem::path &path, MappedFile::Use use)
    : name(path.string()), file(path, use),
      contents(decodePack(file.bytes(), name)) {
  for (const PackEntry &entry : contents.entries)
    byRequest[entry.request] = &entry;
}

void Pack::requireCompiler(const std::string &buildId) const {
  if (contents.compiler == buildId)
    return;
  throw Error(name + " was made by another compiler (build " +
                  contents.compiler.substr(0, 12) + ", tessera " +
                  contents.version + "; this is build " +
                  buildId.substr(0, 12) + ")",
              "make it again with this tessera: " + contents.command);
}

const PackEntry *Pack::find(const CompileRequest &request) const {
  const auto found = byRequest.find(request.key());
  return found == byRequest.end() ? nullptr : found->second;
}

// Returns a CPU target of the pack that this processor can run.
static std::string runnable(const std::set<std::string> &targets) {
  const auto host = CpuTarget::host();
  for (const std::string &text : targets)
    if (const auto target = CpuTarget::parse(text);
        target && host &&
        (target->mcpu != "x86-64-v4" || host->mcpu == "x86-64-v4") &&
        !(target->features & ~host->features))
      return text;
  return "";
}

static std::string quotedForShell(const std::string &text) {
  const bool plain =
      !text.empty() && std::all_of(text.begin(), text.end(), [](uint8_t c) {
        return std::isalnum(c) ||
               std::string_view("_-./=:,@+%").find(char(c)) !=
                   std::string_view::npos;
      });
  if (plain)
    return text;
  std::string quoted = "'";
  for (const char c : text)
    quoted += c == '\'' ? "'\\''" : std::string(1, c);
  return quoted + "'";
}

// The libraries of a process have a runtime each, and all read the environment.
// The name begins with _ because no one else sets the variable:
// unknownOptions() reports those that begin with TESSERA_.
static constexpr const char *argumentsVariable = "_TESSERA_PACK_ARGUMENTS";

void setPackArguments(const std::vector<std::string> &arguments) {
  std::string text;
  for (const std::string &argument : arguments)
    text += " " + quotedForShell(argument);
  ::setenv(argumentsVariable, text.c_str(), 1);
}

std::string Pack::whyNot(const CompileRequest &request) const {
  std::set<std::string> targets;
  bool kernel = false, text = false;
  const std::string hash = sha256Hex(request.text);
  for (const PackEntry &entry : contents.entries) {
    targets.insert(entry.target);
    const PackKernel &packed = contents.kernels[entry.kernel];
    if (entry.target != request.target || packed.name != request.kernel)
      continue;
    kernel = true;
    text |= packed.text == hash;
  }
  if (!targets.count(request.target)) {
    std::string list;
    for (const std::string &target : targets)
      list += (list.empty() ? "" : ", ") + target;
    const std::string own =
        CpuTarget::parse(request.target) ? runnable(targets) : "";
    return "it has no code for " + request.target + ", only for " + list +
           (own.empty() ? "" : "; TESSERA_TARGET=" + own + " runs here");
  }
  if (!kernel)
    return "it has no code of this kernel";
  return text ? "it has the kernel, but not this configuration"
              : "the text of the kernel is another one than when it was packed";
}

std::string Pack::targetsWith(const std::string &target) const {
  std::set<std::string> targets = {target};
  for (const PackEntry &entry : contents.entries)
    targets.insert(entry.target);
  std::string list;
  for (const std::string &one : targets)
    list += (list.empty() ? "" : ",") + one;
  return list;
}

std::string Pack::remedy(const CompileRequest &request) const {
  const std::string ending = " --targets " + targetsWith(request.target) +
                             " -o " + quotedForShell(name);
  if (const char *arguments = std::getenv(argumentsVariable);
      arguments && *arguments)
    return "pack this run: tessera pack" + std::string(arguments) + ending;
  return "it was made by `" + contents.command +
         "`; give that command the settings of this call, or pack a run: "
         "tessera pack --config RUN.yaml" +
         ending;
}

Artifact Pack::read(const PackEntry &entry) const {
  return readPacked(file.bytes(), contents, entry, name);
}

const Pack *environmentPack() {
  // Never destroyed: threads may still launch while the process ends.
  static const Pack *const pack = []() -> const Pack * {
    const std::string path = optionText(Option::Pack);
    if (path.empty())
      return nullptr;
    try {
      auto made = std::make_unique<Pack>(path);
      made->requireCompiler(compilerBuildId());
      return made.release();
    } catch (const Error &error) {
      throw Error("TESSERA_PACK: " + error.message, error.hint);
    }
  }();
  return pack;
}

} // namespace tessera::runtime
