// language/Program.cpp - a kernel file and the files it imports from.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "language/ProgramImpl.h"

#include "language/Arithmetic.h"
#include "language/CudaSource.h"
#include "language/Parser.h"
#include "language/Request.h"
#include "language/pattern/PatternKernels.h"
#include "support/Error.h"
#include "support/File.h"
#include "support/Names.h"

#include <algorithm>
#include <filesystem>
#include <utility>

namespace tessera::language {

namespace fs = std::filesystem;

namespace {

KernelLibrary &kernelLibrary() {
  static auto *const library = new KernelLibrary;
  return *library;
}

} // namespace

void setKernelLibrary(KernelLibrary library) {
  kernelLibrary() = std::move(library);
}

namespace {

// The names of one module. The program must outlive it.
class ModuleScope : public Scope {
public:
  // `classes`: true if classes of named tuples can be called. The values of
  // module constants do not have field names.
  ModuleScope(const Program &program, std::string path, bool classes,
              std::function<std::optional<Symbol>(std::string_view)> lookup)
      : program(program), path(std::move(path)), classes(classes),
        lookup(std::move(lookup)) {}

  std::optional<Value> find(std::string_view name) const override {
    std::optional<Symbol> symbol = lookup(name);
    if (!symbol)
      return std::nullopt;
    switch (symbol->kind) {
    case Symbol::Kind::Constant:
      return symbol->value;
    case Symbol::Kind::Library:
      return namedValue(symbol->path);
    case Symbol::Kind::Unread:
      throw ValueProblem{symbol->unreadMessage(name), symbol->hint};
    case Symbol::Kind::Function:
      break;
    }
    if (symbol->function->isJit || symbol->function->isConstexpr)
      return Value(Value::KernelFunction{
          std::string(name), path == program.main().file->path() ? "" : path});
    if (symbol->function->isPlain ||
        (classes && symbol->function->isNamedTuple))
      return Value(Value::Function{nullptr, program.scope(*symbol->function),
                                   symbol->function});
    return Value(Value::Named{symbol->function->name});
  }

private:
  const Program &program;
  const std::string path; // path of the module
  const bool classes;
  std::function<std::optional<Symbol>(std::string_view)> lookup;
};

} // namespace

std::string Symbol::unreadMessage(std::string_view name) const {
  return "`" + std::string(name) + "` " +
         (type.empty()
              ? "is set by code that is not read (" + why + ")"
              : "has the type `" + type + "` and no value that kernels know");
}

void Program::Impl::load(const std::string &path, std::string text) {
  auto file = std::make_shared<const SourceFile>(path, std::move(text));
  files.push_back(file);
  ParseResult result = parse(file);
  LoadedModule &loaded = modules[path];
  loaded.diagnostics = std::move(result.fileDiagnostics);
  loaded.module = std::move(result.module);
  loaded.hasHostCode = result.hasHostCode;
  for (const StmtPtr &stmt : loaded.module->body)
    bind(loaded, *stmt);
}

void Program::Impl::bind(LoadedModule &loaded, const Stmt &stmt) {
  auto bindTarget = [&](const Expr &target, const Expr *value) {
    Binding binding;
    binding.value = value;
    if (const auto *name = target.as<Name>()) {
      loaded.bindings[name->id] = binding;
      return;
    }
    const std::vector<ExprPtr> *elements = nullptr;
    if (const auto *tuple = target.as<TupleExpr>())
      elements = &tuple->elements;
    else if (const auto *list = target.as<ListExpr>())
      elements = &list->elements;
    for (size_t i = 0; elements && i < elements->size(); ++i)
      if (const auto *name = (*elements)[i]->as<Name>()) {
        binding.element = int(i);
        loaded.bindings[name->id] = binding;
      }
  };
  if (const auto *function = stmt.as<FunctionDef>()) {
    Binding binding;
    binding.function = function;
    loaded.bindings[function->name] = binding;
  } else if (const auto *assign = stmt.as<Assign>()) {
    for (const ExprPtr &target : assign->targets)
      bindTarget(*target, assign->value.get());
  } else if (const auto *annotated = stmt.as<AnnAssign>()) {
    const auto *name = annotated->target->as<Name>();
    const auto *type = annotated->annotation->as<Name>();
    if (annotated->value) {
      bindTarget(*annotated->target, annotated->value.get());
    } else if (name && type) { // unless another statement assigns it a value
      Binding binding;
      binding.type = type->id;
      loaded.bindings.try_emplace(name->id, std::move(binding));
    }
  } else if (const auto *augmented = stmt.as<AugAssign>()) {
    Binding binding;
    binding.problem =
        Diagnostic::make(DiagnosticId::InvalidConstant, loaded.module->file,
                         augmented->range, "a module constant is changed",
                         "assign it once, with its final value, or give the "
                         "new value another name");
    if (const auto *name = augmented->target->as<Name>())
      loaded.bindings[name->id] = binding;
  } else if (const auto *import = stmt.as<Import>()) {
    Binding binding;
    binding.path =
        libraryPath(import->hasAlias ? import->module : import->alias);
    loaded.bindings[import->alias] = binding;
  } else if (const auto *from = stmt.as<ImportFrom>()) {
    if (from->name == "*")
      return loaded.stars.push_back(from);
    Binding binding;
    binding.import = from;
    loaded.bindings[from->alias] = binding;
  } else if (const auto *skipped = stmt.as<Skipped>()) {
    Binding binding;
    binding.unread = skipped;
    for (const std::string &name : skipped->names)
      loaded.bindings[name] = binding;
  }
}

Value Program::Impl::constant(const Program &program,
                              const LoadedModule &loaded,
                              const Binding &binding) {
  auto key = std::pair(binding.value, binding.element);
  if (auto found = values.find(key); found != values.end())
    return found->second;
  auto fail = [&](std::string message, std::string hint) {
    throw CompileError({Diagnostic::make(
        DiagnosticId::InvalidConstant, loaded.module->file,
        binding.value->range, std::move(message), std::move(hint))});
  };
  if (std::find(active.begin(), active.end(), binding.value) != active.end())
    fail("a constant that is defined by itself", "write its value");
  if (active.size() > 100)
    fail("constants that refer to each other over 100 steps",
         "write the value");
  const std::string path = loaded.module->file->path();
  auto scope = std::make_shared<ModuleScope>(
      program, path, false, [this, &program, path](std::string_view name) {
        return lookup(program, path, name, 0);
      });
  active.push_back(binding.value);
  Value value;
  try {
    value = evaluate(*binding.value, scope, loaded.module->file);
  } catch (...) {
    active.pop_back();
    throw;
  }
  active.pop_back();
  if (binding.element >= 0) {
    const std::vector<Value> *items = value.sequence();
    if (!items || size_t(binding.element) >= items->size())
      fail("the value does not have as many parts as there are names",
           "match the names to the elements");
    value = Value((*items)[size_t(binding.element)]);
  }
  return values[key] = value;
}

// Looks up a name in the files that `import *` names; the last import counts.
std::optional<Symbol> Program::Impl::lookupStars(const Program &program,
                                                 LoadedModule &loaded,
                                                 std::string_view name,
                                                 unsigned depth) {
  if (name.starts_with('_'))
    return std::nullopt;
  for (size_t i = loaded.stars.size(); i-- > 0;) {
    const ImportFrom &star = *loaded.stars[i];
    if (isLibrary(star)) {
      Symbol symbol;
      symbol.kind = Symbol::Kind::Library;
      symbol.path = libraryPath(star.module + "." + std::string(name));
      // Only the constants and types of a library are known completely.
      if (!namedValue(symbol.path).is<Value::Named>() ||
          isCallable(symbol.path) || symbol.path == "triton.jit" ||
          symbol.path == "triton.autotune" ||
          symbol.path == "triton.heuristics")
        return symbol;
      continue;
    }
    std::optional<Diagnostic> problem;
    const std::string path = findFile(loaded, star, problem);
    if (problem)
      throw CompileError({*problem});
    if (path.empty() || !modules.at(path).diagnostics.empty())
      continue;
    if (auto symbol = lookup(program, path, name, depth + 1))
      return symbol;
  }
  return std::nullopt;
}

std::optional<Symbol> Program::Impl::lookup(const Program &program,
                                            const std::string &path,
                                            std::string_view name,
                                            unsigned depth) {
  std::lock_guard lock(mutex);
  auto module = modules.find(path);
  if (module == modules.end() || depth > 20)
    return std::nullopt;
  LoadedModule &loaded = module->second;
  auto found = loaded.bindings.find(name);
  if (found == loaded.bindings.end())
    return lookupStars(program, loaded, name, depth);
  Binding &binding = found->second;
  resolve(loaded, binding);
  if (binding.problem)
    throw CompileError({*binding.problem});
  Symbol symbol;
  if (binding.function) {
    symbol.kind = Symbol::Kind::Function;
    symbol.function = binding.function;
  } else if (binding.unread) {
    symbol.kind = Symbol::Kind::Unread;
    symbol.why = path + ":" + std::to_string(binding.unread->range.line) +
                 ": " + binding.unread->why;
    symbol.hint = binding.unread->hint;
  } else if (!binding.type.empty()) {
    symbol.kind = Symbol::Kind::Unread;
    symbol.type = binding.type;
    symbol.hint = "kernels know numbers, bools, strings, types, None, and "
                  "tuples, lists, dicts and sets of them; name an attribute "
                  "that is one, or pass it as an argument";
  } else if (binding.value) {
    symbol.kind = Symbol::Kind::Constant;
    symbol.value = constant(program, loaded, binding);
  } else if (!binding.fromFile.empty()) {
    return imported(program, loaded, binding, std::string(name), depth);
  } else {
    symbol.kind = Symbol::Kind::Library;
    symbol.path = binding.path;
  }
  return symbol;
}

// Looks up a name imported from a kernel file. Fails if the file is not
// readable or does not define the name.
std::optional<Symbol> Program::Impl::imported(const Program &program,
                                              LoadedModule &loaded,
                                              const Binding &binding,
                                              const std::string &alias,
                                              unsigned depth) {
  checkCircles(loaded, alias);
  const LoadedModule &other = modules.at(binding.fromFile);
  if (!other.diagnostics.empty())
    throw CompileError(other.diagnostics);
  auto symbol = lookup(program, binding.fromFile, binding.name, depth + 1);
  // Other code of that file may define the name, so it fails where it is used.
  if (symbol || other.hasHostCode || !other.stars.empty())
    return symbol;
  std::vector<std::string> names;
  for (const auto &[name, known] : other.bindings)
    names.push_back(name);
  SourceRange range;
  for (const StmtPtr &stmt : loaded.module->body)
    if (const auto *from = stmt->as<ImportFrom>(); from && from->alias == alias)
      range = from->range;
  throw CompileError({Diagnostic::make(
      DiagnosticId::ImportFailed, loaded.module->file, range,
      "`" + binding.fromFile + "` has no `" + binding.name + "`",
      nearestNameHint(binding.name, names, "names"))});
}

Program::Program() : impl(std::make_unique<Impl>()) {}
Program::~Program() = default;

std::shared_ptr<const Program>
Program::load(const std::string &path, std::string text, FileReader reader) {
  std::shared_ptr<Program> program(new Program);
  Impl &impl = *program->impl;
  impl.readsDisk = !reader;
  if (impl.readsDisk)
    impl.library = kernelLibrary();
  impl.reader = reader ? std::move(reader) : [](const std::string &file) {
    return tryReadFile(file);
  };
  std::string normal = fs::path(path).lexically_normal().generic_string();
  if (needsExpansion(text)) {
    ExpandedPattern expanded =
        expandPattern(std::make_shared<const SourceFile>(normal, text));
    if (!expanded.diagnostics.empty())
      throw CompileError(expanded.diagnostics);
    text = std::move(expanded.text);
  }
  impl.load(normal, std::move(text));
  if (const auto &found = impl.modules.at(normal).diagnostics; !found.empty())
    throw CompileError(found);
  impl.mainModule = impl.modules.at(normal).module.get();
  return program;
}

std::shared_ptr<const Program> Program::load(const CompileRequest &request) {
  if (request.sources.empty())
    return load(request.file, request.text,
                [](const std::string &) { return std::nullopt; });
  std::map<std::string, std::string> texts;
  for (const RequestSource &source : request.sources)
    texts[source.path] = source.text;
  std::shared_ptr<const Program> program =
      load(request.sources[0].path, request.sources[0].text,
           [texts](const std::string &path) -> std::optional<std::string> {
             auto found = texts.find(path);
             if (found == texts.end())
               return std::nullopt;
             return found->second;
           });
  program->impl->library = [texts](const std::string &file) {
    for (const auto &[path, text] : texts)
      if (path.ends_with("/" + file))
        return path;
    return std::string();
  };
  return program;
}

std::shared_ptr<const Program> Program::loadFile(const std::string &path) {
  if (isCudaSource(path))
    throw Error(path + " is CUDA C++: it can be compiled and compared, and its "
                       "PTX simulated, but not launched by name",
                "tessera compile " + path +
                    " --emit ptx,report; tessera diff FILE.cu:KERNEL; tessera "
                    "replay CASE --device sim:sm_80 --ptx FILE checks a launch "
                    "(docs/compiler/cuda.md)");
  return load(path, readFile(path));
}

const Module &Program::main() const { return *impl->mainModule; }

std::vector<std::shared_ptr<const SourceFile>> Program::files() const {
  std::lock_guard lock(impl->mutex);
  return impl->files;
}

bool Program::hasUnknownNames(const FunctionDef &from) const {
  std::lock_guard lock(impl->mutex);
  return !impl->modules.at(from.file->path()).stars.empty();
}

const FunctionDef &Program::kernel(std::string_view name) const {
  const FunctionDef *found = main().findFunction(name);
  if (found && found->isJit)
    return *found;
  if (found)
    throw Error(main().file->path() + ": `" + std::string(name) +
                    "` is a Python function, not a kernel",
                "write @triton.jit above it");
  std::vector<std::string> names;
  for (const StmtPtr &stmt : main().body)
    if (const auto *function = stmt->as<FunctionDef>();
        function && function->isJit)
      names.push_back(function->name);
  for (const StmtPtr &stmt : main().nested)
    if (stmt->to<FunctionDef>().name == name)
      throw Error(main().file->path() + ": `" + std::string(name) +
                      "` is defined inside a function or class",
                  "move it to the top of the file, or launch it through "
                  "tessera.jit");
  throw Error(main().file->path() + ": no kernel `" + std::string(name) + "`",
              nearestNameHint(name, names, "kernels"));
}

std::optional<Symbol> Program::lookup(const FunctionDef &from,
                                      std::string_view name) const {
  return impl->lookup(*this, from.file->path(), name, 0);
}

std::shared_ptr<const Scope> Program::scope(const FunctionDef &from) const {
  return std::make_shared<ModuleScope>(
      *this, from.file->path(), true,
      [this, &from](std::string_view name) { return lookup(from, name); });
}

} // namespace tessera::language
