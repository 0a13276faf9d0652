// compiler/syntax/Program.cpp - a kernel file with the files it imports from.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "compiler/syntax/Program.h"

#include "compiler/syntax/Arithmetic.h"
#include "compiler/syntax/CudaSource.h"
#include "compiler/syntax/Parser.h"
#include "compiler/syntax/Request.h"
#include "support/Error.h"
#include "support/File.h"
#include "support/Names.h"
#include "support/Trust.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <mutex>

namespace tessera::syntax {

namespace fs = std::filesystem;

namespace {

// What a name was last bound to at module level.
struct Binding {
  const FunctionDef *function = nullptr;
  const Expr *value = nullptr; // of a constant
  int element = -1;            // of a tuple that is taken apart
  std::string path;            // of a library
  std::string fromFile, name;  // imported from another kernel file
};

struct LoadedModule {
  std::unique_ptr<Module> module;
  std::map<std::string, Binding, std::less<>> bindings;
  bool hasHostCode = false; // may define more names
};

} // namespace

struct Program::Impl {
  FileReader reader;
  bool readsDisk = false;
  std::map<std::string, LoadedModule> modules; // by path
  std::vector<std::shared_ptr<const SourceFile>> files;
  std::vector<Diagnostic> diagnostics;
  const Module *mainModule = nullptr;

  // Constants are evaluated when first asked for.
  std::recursive_mutex mutex;
  std::map<std::pair<const Expr *, int>, Value> values;
  std::vector<const Expr *> active;

  void load(const std::string &path, std::string text);
  void bind(LoadedModule &loaded, const Stmt &stmt);
  void bindImport(LoadedModule &loaded, const ImportFrom &import);
  std::string findFile(const LoadedModule &loaded, const ImportFrom &import);
  void checkTrust(const LoadedModule &loaded, const ImportFrom &import,
                  const std::filesystem::path &folder, const std::string &path);
  std::string circle(const LoadedModule &loaded,
                     const std::string &alias) const;
  std::optional<Symbol> lookup(const Program &program, const std::string &path,
                               std::string_view name, unsigned depth);
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

void Program::Impl::load(const std::string &path, std::string text) {
  auto file = std::make_shared<const SourceFile>(path, std::move(text));
  files.push_back(file);
  ParseResult result = parse(file);
  diagnostics.insert(diagnostics.end(), result.diagnostics.begin(),
                     result.diagnostics.end());
  LoadedModule &loaded = modules[path];
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

// Reports an error if a user who cannot change the importing file can change
// the file `path`, which an import found from `folder`. `folder` and what it
// contains are checked; the folders above it contain the importing file, too.
void Program::Impl::checkTrust(const LoadedModule &loaded,
                               const ImportFrom &import, const fs::path &folder,
                               const std::string &path) {
  if (!readsDisk)
    return;
  const fs::path from = loaded.module->file->path();
  TrustedContext context = TrustedContext::of(from);
  std::error_code ignored;
  const fs::path own =
      fs::weakly_canonical(fs::absolute(from, ignored), ignored).parent_path();
  const fs::path start =
      fs::weakly_canonical(fs::absolute(folder, ignored), ignored);
  context.above = start == own ? own : start.parent_path();
  if (const auto found = findDistrust(path, context))
    diagnostics.push_back(Diagnostic::make(
        DiagnosticId::ImportFailed, loaded.module->file, import.range,
        "`" + path + "` is not imported: " + found->reason, found->hint));
}

// The kernel file an import names; empty when there is none.
std::string Program::Impl::findFile(const LoadedModule &loaded,
                                    const ImportFrom &import) {
  const fs::path relative = relativePath(import.module);
  fs::path folder = fs::path(loaded.module->file->path()).parent_path();
  auto exists = [&](const fs::path &candidate) {
    std::string path = candidate.lexically_normal().generic_string();
    if (modules.contains(path))
      return path;
    std::optional<std::string> text = reader(path);
    if (!text)
      return std::string();
    checkTrust(loaded, import, folder, path);
    load(path, std::move(*text));
    return path;
  };
  if (import.level) {
    for (unsigned i = 1; i < import.level; ++i)
      folder /= "..";
    return exists(folder / relative);
  }
  // Beside the file, then from each folder above it: `from kernels.nsa.x`.
  for (unsigned up = 0; up < 8; ++up) {
    if (std::string found = exists(folder / relative); !found.empty())
      return found;
    if (!folder.has_relative_path())
      break;
    folder = folder.parent_path();
  }
  return {};
}

void Program::Impl::bindImport(LoadedModule &loaded, const ImportFrom &import) {
  Binding binding;
  std::string root = import.module.substr(0, import.module.find('.'));
  bool library =
      !import.level && (root == "triton" || root == "torch" || root == "math" ||
                        root == "typing" || root == "__future__");
  if (!library && !(import.level && import.module.empty())) {
    std::string path = findFile(loaded, import);
    if (!path.empty()) {
      binding.fromFile = path;
      binding.name = import.name;
      loaded.bindings[import.alias] = binding;
      return;
    }
  }
  if (import.level) {
    diagnostics.push_back(Diagnostic::make(
        DiagnosticId::ImportFailed, loaded.module->file, import.range,
        import.module.empty()
            ? "a kernel file can only be imported from by name"
            : "there is no kernel file for `" + std::string(import.level, '.') +
                  import.module + "`",
        import.module.empty()
            ? "write from ." + import.name + " import NAME"
            : "imports are looked up beside the file that imports: there is no "
              "regular file `" +
                  relativePath(import.module) + "` there"));
    return;
  }
  binding.path = import.module + "." + import.name;
  loaded.bindings[import.alias] = binding;
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
    if (annotated->value)
      bindTarget(*annotated->target, annotated->value.get());
  } else if (const auto *augmented = stmt.as<AugAssign>()) {
    diagnostics.push_back(
        Diagnostic::make(DiagnosticId::InvalidConstant, loaded.module->file,
                         augmented->range, "a module constant is changed",
                         "assign it once, with its final value, or give the "
                         "new value another name"));
  } else if (const auto *import = stmt.as<Import>()) {
    Binding binding;
    binding.path = import->hasAlias ? import->module : import->alias;
    loaded.bindings[import->alias] = binding;
  } else if (const auto *from = stmt.as<ImportFrom>()) {
    bindImport(loaded, *from);
  }
}

Value Program::Impl::constant(const Program &program,
                              const LoadedModule &loaded,
                              const Binding &binding) {
  std::lock_guard lock(mutex);
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
std::string Program::Impl::circle(const LoadedModule &loaded,
                                  const std::string &alias) const {
  const LoadedModule *at = &loaded;
  std::string name = alias, chain;
  for (size_t steps = 0; steps <= modules.size(); ++steps) {
    auto found = at->bindings.find(name);
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

std::optional<Symbol> Program::Impl::lookup(const Program &program,
                                            const std::string &path,
                                            std::string_view name,
                                            unsigned depth) {
  auto module = modules.find(path);
  if (module == modules.end() || depth > 20)
    return std::nullopt;
  auto found = module->second.bindings.find(name);
  if (found == module->second.bindings.end())
    return std::nullopt;
  const Binding &binding = found->second;
  Symbol symbol;
  if (binding.function) {
    symbol.kind = Symbol::Kind::Function;
    symbol.function = binding.function;
  } else if (binding.value) {
    symbol.kind = Symbol::Kind::Constant;
    symbol.value = constant(program, module->second, binding);
  } else if (!binding.fromFile.empty()) {
    return lookup(program, binding.fromFile, binding.name, depth + 1);
  } else {
    symbol.kind = Symbol::Kind::Library;
    symbol.path = binding.path;
  }
  return symbol;
}

Program::Program() : impl(std::make_unique<Impl>()) {}
Program::~Program() = default;

std::shared_ptr<const Program>
Program::load(const std::string &path, std::string text, FileReader reader) {
  std::shared_ptr<Program> program(new Program);
  Impl &impl = *program->impl;
  impl.readsDisk = !reader;
  impl.reader = reader ? std::move(reader) : [](const std::string &file) {
    return tryReadFile(file);
  };
  std::string normal = fs::path(path).lexically_normal().generic_string();
  impl.load(normal, std::move(text));
  // Names imported from a kernel file must be there.
  for (const auto &[file, loaded] : impl.modules)
    for (const StmtPtr &stmt : loaded.module->body) {
      const auto *from = stmt->as<ImportFrom>();
      if (!from || !loaded.bindings.contains(from->alias))
        continue;
      const Binding &binding = loaded.bindings.at(from->alias);
      if (std::string circle = impl.circle(loaded, from->alias);
          !circle.empty()) {
        impl.diagnostics.push_back(Diagnostic::make(
            DiagnosticId::ImportFailed, loaded.module->file, from->range,
            "`" + from->name + "` is imported in a circle and defined nowhere",
            circle + ": define it in one of the files"));
        break;
      }
      // A name that other code of that file may define fails where it is used.
      if (binding.fromFile.empty() ||
          impl.modules.at(binding.fromFile).hasHostCode ||
          impl.modules.at(binding.fromFile).bindings.contains(binding.name))
        continue;
      std::vector<std::string> names;
      for (const auto &[name, other] :
           impl.modules.at(binding.fromFile).bindings)
        names.push_back(name);
      impl.diagnostics.push_back(Diagnostic::make(
          DiagnosticId::ImportFailed, loaded.module->file, from->range,
          "`" + binding.fromFile + "` has no `" + binding.name + "`",
          nearestNameHint(binding.name, names, "names")));
    }
  if (!impl.diagnostics.empty())
    throw CompileError(impl.diagnostics);
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
  return load(request.sources[0].path, request.sources[0].text,
              [texts](const std::string &path) -> std::optional<std::string> {
                auto found = texts.find(path);
                if (found == texts.end())
                  return std::nullopt;
                return found->second;
              });
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

const std::vector<std::shared_ptr<const SourceFile>> &Program::files() const {
  return impl->files;
}

const FunctionDef &Program::kernel(std::string_view name) const {
  std::vector<std::string> names;
  for (const StmtPtr &stmt : main().body) {
    const auto *function = stmt->as<FunctionDef>();
    if (function && function->name == name && !function->isJit)
      throw Error(main().file->path() + ": `" + std::string(name) +
                      "` is a Python function, not a kernel",
                  "write @triton.jit above it");
    if (function && function->isJit) {
      if (function->name == name)
        return *function;
      names.push_back(function->name);
    }
  }
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

} // namespace tessera::syntax
