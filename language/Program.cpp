// language/Program.cpp - a kernel file with the files it imports from.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "language/Program.h"

#include "language/Arithmetic.h"
#include "language/CudaSource.h"
#include "language/Parser.h"
#include "language/Request.h"
#include "language/pattern/PatternKernels.h"
#include "support/Error.h"
#include "support/File.h"
#include "support/Names.h"
#include "support/Trust.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <mutex>
#include <utility>

namespace tessera::language {

namespace fs = std::filesystem;

namespace {

KernelLibrary &kernelLibrary() {
  static auto *const library = new KernelLibrary;
  return *library;
}

// What a name was last bound to at module level.
struct Binding {
  const FunctionDef *function = nullptr;
  const Expr *value = nullptr; // of a constant
  int element = -1;            // of a tuple that is taken apart
  std::string path;            // of a library
  // Of an import, until a kernel file or library is found for it.
  const ImportFrom *import = nullptr;
  std::string fromFile, name; // imported from another kernel file
  const Skipped *unread = nullptr;
  std::string type;                  // of `name: type` without a value
  std::optional<Diagnostic> problem; // reported where the name is looked up
};

struct LoadedModule {
  std::unique_ptr<Module> module;
  std::map<std::string, Binding, std::less<>> bindings;
  std::vector<const ImportFrom *> stars; // import *
  bool hasHostCode = false;              // may define more names
  std::vector<Diagnostic> diagnostics;
};

} // namespace

void setKernelLibrary(KernelLibrary library) {
  kernelLibrary() = std::move(library);
}

struct Program::Impl {
  FileReader reader;
  bool readsDisk = false;
  KernelLibrary library;
  std::map<std::string, LoadedModule> modules; // by path
  std::vector<std::shared_ptr<const SourceFile>> files;
  const Module *mainModule = nullptr;

  // Constants are evaluated and files read when first asked for.
  std::recursive_mutex mutex;
  std::map<std::pair<const Expr *, int>, Value> values;
  std::vector<const Expr *> active;

  void load(const std::string &path, std::string text);
  void bind(LoadedModule &loaded, const Stmt &stmt);
  void resolve(LoadedModule &loaded, Binding &binding);
  std::string findFile(const LoadedModule &loaded, const ImportFrom &import,
                       std::optional<Diagnostic> &problem);
  std::optional<Diagnostic> distrust(const LoadedModule &loaded,
                                     const ImportFrom &import,
                                     const std::filesystem::path &folder,
                                     const std::string &path);
  std::string circle(LoadedModule &loaded, const std::string &alias);
  void checkCircles(LoadedModule &loaded, const std::string &alias);
  std::optional<Symbol> lookup(const Program &program, const std::string &path,
                               std::string_view name, unsigned depth);
  std::optional<Symbol> lookupStars(const Program &program,
                                    LoadedModule &loaded, std::string_view name,
                                    unsigned depth);
  std::optional<Symbol> imported(const Program &program, LoadedModule &loaded,
                                 const Binding &binding,
                                 const std::string &alias, unsigned depth);
  Value constant(const Program &program, const LoadedModule &loaded,
                 const Binding &binding);
};

namespace {

// The names of one module. Must not outlive the program.
class ModuleScope : public Scope {
public:
  ModuleScope(const Program &program,
              std::function<std::optional<Symbol>(std::string_view)> lookup)
      : program(program), lookup(std::move(lookup)) {}

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
    if (symbol->function->isPlain)
      return Value(Value::Function{nullptr, program.scope(*symbol->function),
                                   symbol->function});
    return Value(Value::Named{symbol->function->name});
  }

private:
  const Program &program;
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

// "a/b.py" for the module a.b.
static std::string relativePath(std::string module) {
  std::replace(module.begin(), module.end(), '.', '/');
  return module + ".py";
}

// Returns an error if a user who cannot change the importing file can change
// the file `path`, which an import found from `folder`. `folder` and what it
// contains are checked; the folders above it contain the importing file, too.
std::optional<Diagnostic> Program::Impl::distrust(const LoadedModule &loaded,
                                                  const ImportFrom &import,
                                                  const fs::path &folder,
                                                  const std::string &path) {
  if (!readsDisk)
    return std::nullopt;
  const fs::path from = loaded.module->file->path();
  TrustedContext context = TrustedContext::of(from);
  std::error_code ignored;
  const fs::path own =
      fs::weakly_canonical(fs::absolute(from, ignored), ignored).parent_path();
  const fs::path start =
      fs::weakly_canonical(fs::absolute(folder, ignored), ignored);
  context.above = start == own ? own : start.parent_path();
  if (const auto found = findDistrust(path, context))
    return Diagnostic::make(
        DiagnosticId::ImportFailed, loaded.module->file, import.range,
        "`" + path + "` is not imported: " + found->reason, found->hint);
  return std::nullopt;
}

// Returns the kernel file that an import names; empty if there is none, or if
// the file is not trusted, which sets `problem`.
std::string Program::Impl::findFile(const LoadedModule &loaded,
                                    const ImportFrom &import,
                                    std::optional<Diagnostic> &problem) {
  const fs::path relative = relativePath(import.module);
  fs::path folder = fs::path(loaded.module->file->path()).parent_path();
  auto exists = [&](const fs::path &candidate) {
    std::string path = candidate.lexically_normal().generic_string();
    if (modules.contains(path))
      return path;
    std::optional<std::string> text = reader(path);
    if (!text)
      return std::string();
    if (!problem)
      problem = distrust(loaded, import, folder, path);
    if (problem)
      return std::string();
    load(path, std::move(*text));
    return path;
  };
  const auto module = [&](const fs::path &base) {
    const std::string found = exists(base / relative);
    return found.empty() && !import.module.empty()
               ? exists(base / relativePath(import.module + ".__init__"))
               : found;
  };
  if (import.level) {
    for (unsigned i = 1; i < import.level; ++i)
      folder /= "..";
    return module(folder);
  }
  // Beside the file, then from each folder above it: `from kernels.nsa.x`.
  for (unsigned up = 0; up < 8; ++up) {
    if (std::string found = module(folder); !found.empty())
      return found;
    if (!folder.has_relative_path())
      break;
    folder = folder.parent_path();
  }
  if (!library || *relative.begin() != "kernels")
    return {};
  const std::string path = library(relative.generic_string());
  if (!path.empty() && !modules.contains(path))
    load(path, readsDisk ? readFile(path) : reader(path).value_or(""));
  return path;
}

static bool isLibrary(const ImportFrom &import) {
  const std::string root = import.module.substr(0, import.module.find('.'));
  return !import.level &&
         (root == "triton" || root == "torch" || root == "math" ||
          root == "typing" || root == "__future__" ||
          import.module == "tessera" || import.module == "tessera.triton" ||
          import.module.starts_with("tessera.language"));
}

// tessera.triton and tessera.language are Triton's modules of these names.
static std::string libraryPath(const std::string &path) {
  for (const auto &[from, to] : {std::pair<std::string_view, std::string_view>{
                                     "tessera.triton", "triton"},
                                 {"tessera.language", "triton.language"},
                                 {"tessera.jit", "triton.jit"}})
    if (path.starts_with(from) &&
        (path.size() == from.size() || path[from.size()] == '.'))
      return std::string(to) + path.substr(from.size());
  return path;
}

// Finds what an import means when its name is first looked up.
void Program::Impl::resolve(LoadedModule &loaded, Binding &binding) {
  if (!binding.import)
    return;
  const ImportFrom &import = *std::exchange(binding.import, nullptr);
  if (!isLibrary(import) && !(import.level && import.module.empty())) {
    std::string path = findFile(loaded, import, binding.problem);
    if (binding.problem)
      return;
    if (!path.empty()) {
      binding.fromFile = path;
      binding.name = import.name;
      return;
    }
  }
  if (!import.level) {
    binding.path = libraryPath(import.module + "." + import.name);
    return;
  }
  if (import.name == "triton") { // as in `from .compat import triton`
    binding.path = import.name;
    return;
  }
  binding.problem = Diagnostic::make(
      DiagnosticId::ImportFailed, loaded.module->file, import.range,
      import.module.empty()
          ? "a kernel file can only be imported from by name"
          : "there is no kernel file for `" + std::string(import.level, '.') +
                import.module + "`",
      import.module.empty()
          ? "write from ." + import.name + " import NAME"
          : "imports are looked up beside the file that imports: there is no "
            "regular file `" +
                relativePath(import.module) + "` there");
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
    } else if (name && type) { // unless another statement gives it a value
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
      program, [this, &program, path](std::string_view name) {
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

// "a.py imports it from b.py, b.py from a.py" for a name that imports lead
// back to where they began; else empty.
std::string Program::Impl::circle(LoadedModule &loaded,
                                  const std::string &alias) {
  LoadedModule *at = &loaded;
  std::string name = alias, chain;
  for (size_t steps = 0; steps <= modules.size(); ++steps) {
    auto found = at->bindings.find(name);
    if (found != at->bindings.end())
      resolve(*at, found->second);
    if (found == at->bindings.end() || found->second.fromFile.empty())
      return {};
    const Binding &binding = found->second;
    chain += (steps ? ", " : "") + at->module->file->path() +
             (steps ? " from " : " imports it from ") + binding.fromFile;
    name = binding.name;
    at = &modules.at(binding.fromFile);
    if (at == &loaded && name == alias)
      return chain;
  }
  return {};
}

// Throws for a name that imports lead back to where they began, with the place
// of each import.
void Program::Impl::checkCircles(LoadedModule &loaded,
                                 const std::string &alias) {
  if (circle(loaded, alias).empty())
    return;
  std::vector<Diagnostic> found;
  for (auto &[path, module] : modules)
    for (const StmtPtr &stmt : module.module->body)
      if (const auto *from = stmt->as<ImportFrom>();
          from && from->alias == alias)
        if (std::string chain = circle(module, alias); !chain.empty())
          found.push_back(Diagnostic::make(
              DiagnosticId::ImportFailed, module.module->file, from->range,
              "`" + from->name +
                  "` is imported in a circle and defined nowhere",
              chain + ": define it in one of the files"));
  throw CompileError(std::move(found));
}

// A name of a kernel file that is imported as a whole; the last import counts.
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
      // Which names a library has is known of its constants and types.
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

// A name imported from a kernel file must be there, and the file be readable.
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
  // A name that other code of that file may define fails where it is used.
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
      *this,
      [this, &from](std::string_view name) { return lookup(from, name); });
}

} // namespace tessera::language
