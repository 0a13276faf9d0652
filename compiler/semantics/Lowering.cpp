// compiler/semantics/Lowering.cpp - places, frames, the kernel's signature.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "compiler/semantics/Lowering.h"

#include "compiler/semantics/Semantics.h"
#include "dialect/tile/TileDialect.h"
#include "support/Names.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Verifier.h"

namespace tessera::semantics {

using namespace mlir;

Lowering::Lowering(MLIRContext &context, const language::Program &program,
                   const language::CompileRequest &request,
                   std::vector<Diagnostic> *notes, ValueLog *values)
    : program(program), request(request), notes(notes), values(values),
      emit(context, *this) {
  emit.f32Precision = request.options.f32Default;
  emit.debug = request.options.debug;
  if (request.target.rfind("sm_", 0) == 0)
    emit.capability = unsigned(std::atoi(request.target.c_str() + 3));
}

Lowering::At::At(Lowering &lowering, const SourceRange &range)
    : lowering(lowering), saved(lowering.emit.site) {
  lowering.emit.site = {range, lowering.locate(range)};
}

Lowering::At::~At() { lowering.emit.site = saved; }

Lowering::Entered::Entered(Lowering &lowering, Frame &frame)
    : lowering(lowering) {
  lowering.frames.push_back(&frame);
}

Lowering::Entered::~Entered() { lowering.frames.pop_back(); }

Location Lowering::locate(const SourceRange &range) {
  std::string path = frame().file ? frame().file->path() : request.file;
  Location here =
      FileLineColLoc::get(&emit.context(), path, range.line, range.column);
  if (frame().callLocation)
    return CallSiteLoc::get(here, *frame().callLocation);
  return here;
}

void Lowering::fail(DiagnosticId id, const SourceRange &range,
                    std::string message, std::string hint) {
  report(id, range, std::move(message), std::move(hint));
  __builtin_unreachable();
}

void Lowering::report(DiagnosticId id, const SourceRange &range,
                      std::string message, std::string hint) {
  std::shared_ptr<const SourceFile> file =
      frames.empty() ? program.main().file : frame().file;
  const language::FunctionDef *function =
      frames.empty() ? nullptr : frame().function;
  if (file)
    hint = expandQuotes(hint, *file, current, function);
  Diagnostic diagnostic = Diagnostic::make(id, std::move(file), range,
                                           std::move(message), std::move(hint));
  for (size_t i = frames.size(); i-- > 1;) {
    const Frame &caller = *frames[i - 1];
    std::string name = caller.function ? caller.function->name : "module";
    diagnostic.callers.push_back({name, caller.file, frames[i]->callRange});
  }
  throw CompileError(std::vector<Diagnostic>{std::move(diagnostic)});
}

void Lowering::note(DiagnosticId id, const SourceRange &range,
                    std::string message) {
  if (notes && dryRuns == 0)
    notes->push_back(
        Diagnostic::make(id, frame().file, range, std::move(message)));
}

Value Lowering::fromSyntax(const language::Value &value,
                           const SourceRange &range) {
  if (value.isNone())
    return Value::none();
  if (auto *held = value.get<bool>())
    return Const(*held);
  if (auto *held = value.get<language::Int>())
    return Const(*held);
  if (auto *held = value.get<double>())
    return Const(*held);
  if (auto *held = value.get<std::string>())
    return Const(*held);
  if (auto *held = value.get<language::Value::DType>()) {
    auto dtype = parseDType(held->name);
    if (!dtype)
      fail(DiagnosticId::NotSupported, range,
           "the type " + held->name + " is not supported yet");
    return Value::type(Type(*dtype));
  }
  if (auto *items = value.sequence()) {
    std::vector<Value> values;
    for (const language::Value &item : *items)
      values.push_back(fromSyntax(item, range));
    return Value::tuple(std::move(values));
  }
  if (auto *dict = value.get<language::Value::Dict>()) {
    Dict items;
    for (const auto &[key, item] : dict->items)
      items.items.emplace_back(fromSyntax(key, range), fromSyntax(item, range));
    return items;
  }
  // A module constant such as TYPE = tl.float32, or an alias of a function.
  if (auto *named = value.get<language::Value::Named>()) {
    const size_t dot = named->path.rfind('.');
    if (dot != std::string::npos)
      return member(named->path.substr(0, dot), named->path.substr(dot + 1),
                    range);
    fail(DiagnosticId::NotSupported, range,
         "another name for `" + named->path + "` is no value of a kernel",
         "write `" + named->path + "` itself");
  }
  fail(DiagnosticId::NotSupported, range,
       "a " + value.kindName() + " is no value of a kernel",
       "kernels know numbers, bools, strings, types, None and tuples of them");
}

// Whether a loop or a branch of the block assigns `name`.
static bool reassigns(const language::Block &block, const std::string &name,
                      bool inside = false) {
  auto binds = [&](const language::Expr &target) {
    auto *plain = target.as<language::Name>();
    bool found = plain && plain->id == name;
    if (auto *tuple = target.as<language::TupleExpr>())
      for (const language::ExprPtr &element : tuple->elements) {
        auto *part = element->as<language::Name>();
        found |= part && part->id == name;
      }
    return found;
  };
  for (const language::StmtPtr &stmt : block) {
    if (auto *assign = stmt->as<language::Assign>(); assign && inside)
      for (const language::ExprPtr &target : assign->targets)
        if (binds(*target))
          return true;
    if (auto *augmented = stmt->as<language::AugAssign>(); augmented && inside)
      if (binds(*augmented->target))
        return true;
    if (auto *loop = stmt->as<language::For>())
      if (reassigns(loop->body, name, true))
        return true;
    if (auto *loop = stmt->as<language::While>())
      if (reassigns(loop->body, name, true))
        return true;
    if (auto *branch = stmt->as<language::If>())
      if (reassigns(branch->body, name, true) ||
          reassigns(branch->orelse, name, true))
        return true;
  }
  return false;
}

// Makes the function with one argument for each run-time parameter and binds
// all parameters in the kernel's frame.
void Lowering::bindKernel(const language::FunctionDef &kernel,
                          ModuleOp moduleOp) {
  std::map<std::string, const language::Argument *> given;
  std::vector<std::string> names;
  for (const language::Parameter &parameter : kernel.parameters)
    names.push_back(parameter.name);
  for (const language::Argument &argument : request.args) {
    if (std::find(names.begin(), names.end(), argument.name) == names.end())
      fail(DiagnosticId::BadSignature, kernel.nameRange,
           "kernel `" + kernel.name + "` has no parameter `" + argument.name +
               "`",
           nearestNameHint(argument.name, names, "parameters"));
    given[argument.name] = &argument;
  }

  SmallVector<mlir::Type> types;
  SmallVector<Type> frontTypes;
  SmallVector<const language::Parameter *> physical;
  SmallVector<bool> divisible;
  for (const language::Parameter &parameter : kernel.parameters) {
    auto it = given.find(parameter.name);
    if (it == given.end()) {
      if (!parameter.defaultValue)
        fail(DiagnosticId::BadSignature, parameter.range,
             "no argument for the parameter `" + parameter.name +
                 "` of kernel `" + kernel.name + "`");
      frame().scope[parameter.name] = {evaluate(*parameter.defaultValue),
                                       parameter.range};
      continue;
    }
    const language::Argument &argument = *it->second;
    if (argument.isConstexpr()) {
      frame().scope[parameter.name] = {
          fromSyntax(argument.value, parameter.range), parameter.range};
      continue;
    }
    if (parameter.isConstexpr)
      fail(DiagnosticId::BadSignature, parameter.range,
           "`" + parameter.name + "` is a tl.constexpr but the argument is " +
               argument.type,
           "give it a value, as in " + parameter.name + "=64");
    auto parsed = language::ArgClass::parse(argument.type);
    auto dtype = parsed ? parseDType(parsed->element) : std::nullopt;
    if (!dtype || (isFp8(*dtype) && !parsed->pointer))
      fail(DiagnosticId::BadSignature, parameter.range,
           "argument `" + parameter.name + "` has the type `" + argument.type +
               "`, which kernels cannot compute with",
           parsed ? "8-bit floats lie in memory: pass a pointer to them, or "
                    "the number as fp32"
                  : "types are written as in *fp32:16, i32, fp32");
    Type type(Element{*dtype, parsed->pointer});
    physical.push_back(&parameter);
    frontTypes.push_back(type);
    types.push_back(toMlir(emit.context(), type));
    divisible.push_back(parsed->divisible);
  }

  OpBuilder &builder = emit.builder;
  builder.setInsertionPointToEnd(moduleOp.getBody());
  auto function =
      func::FuncOp::create(builder, locate(kernel.nameRange), kernel.name,
                           builder.getFunctionType(types, {}));
  Block *entry = function.addEntryBlock();
  for (size_t i = 0; i < physical.size(); ++i) {
    const language::Parameter &parameter = *physical[i];
    entry->getArgument(i).setLoc(NameLoc::get(
        builder.getStringAttr(parameter.name), locate(parameter.range)));
    if (divisible[i])
      function.setArgAttr(i, tile::kDivisibilityAttr,
                          builder.getI32IntegerAttr(16));
    frame().scope[parameter.name] = {
        Tensor{entry->getArgument(i), frontTypes[i]}, parameter.range};
  }
  builder.setInsertionPointToEnd(entry);
  // An argument that is specialized to 1 is a number like any other where the
  // kernel changes it: Triton itself refuses that, its interpreter does not.
  for (const language::Parameter &parameter : kernel.parameters) {
    Variable &variable = frame().scope[parameter.name];
    auto *constant = variable.value.constant();
    if (!parameter.isConstexpr && constant && constant->isInt() &&
        reassigns(kernel.body, parameter.name))
      variable.value = emit.toTensor(variable.value);
  }
}

OwningOpRef<ModuleOp> Lowering::run() {
  Frame kernelFrame;
  kernelFrame.file = program.main().file;
  Entered entered(*this, kernelFrame);
  const language::FunctionDef *kernel =
      program.main().findFunction(request.kernel);
  if (!kernel) {
    std::vector<std::string> names;
    for (const language::StmtPtr &stmt : program.main().body)
      if (auto *function = stmt->as<language::FunctionDef>())
        names.push_back(function->name);
    fail(DiagnosticId::UnknownName, SourceRange{1, 1, 1, 1},
         "no kernel `" + request.kernel + "` in this file",
         nearestNameHint(request.kernel, names, "functions"));
  }
  if (!kernel->problems.empty())
    throw CompileError(kernel->problems);
  kernelFrame.function = kernel;
  if (kernel->file)
    kernelFrame.file = kernel->file;

  At at(*this, kernel->nameRange);
  OwningOpRef<ModuleOp> result(ModuleOp::create(emit.location()));
  bindKernel(*kernel, *result);
  Outcome outcome = run(Rest{&kernel->body, 0, nullptr});
  if (outcome.returned && !outcome.value.isNone())
    fail(DiagnosticId::BadReturn, outcome.range,
         "a kernel returns nothing, got " + outcome.value.describe(),
         "write the result to memory with tl.store, and `return` without a "
         "value");
  func::ReturnOp::create(emit.builder, emit.location());

  std::string broken;
  ScopedDiagnosticHandler handler(&emit.context(),
                                  [&](mlir::Diagnostic &diagnostic) {
                                    broken += diagnostic.str() + "\n";
                                    return success();
                                  });
  if (failed(verify(*result)))
    throw Error("internal error: invalid IR for kernel `" + request.kernel +
                    "`:\n" + broken,
                "please report it with the kernel");
  return result;
}

void loadDialects(MLIRContext &context) {
  context.loadDialect<tile::TileDialect, arith::ArithDialect, func::FuncDialect,
                      math::MathDialect, scf::SCFDialect>();
}

OwningOpRef<ModuleOp> buildTileModule(MLIRContext &context,
                                      const language::Program &program,
                                      const language::CompileRequest &request,
                                      std::vector<Diagnostic> *notes,
                                      ValueLog *values) {
  loadDialects(context);
  return Lowering(context, program, request, notes, values).run();
}

} // namespace tessera::semantics
