// compiler/semantics/Lowering.cpp - source locations, frames and compile-time
// values.
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
    const auto *tuple = value.get<language::Value::Tuple>();
    return tuple && !tuple->names.empty()
               ? Value::namedTuple(fieldsNamed(tuple->names), std::move(values))
               : Value::tuple(std::move(values));
  }
  if (auto *dict = value.get<language::Value::Dict>()) {
    Dict items;
    for (const auto &[key, item] : dict->items)
      items.items.emplace_back(fromSyntax(key, range), fromSyntax(item, range));
    return items;
  }
  if (auto *function = value.get<language::Value::KernelFunction>()) {
    try {
      return FunctionRef{&program.function(*function), nullptr};
    } catch (const CompileError &) {
      throw;
    } catch (const Error &error) {
      fail(DiagnosticId::BadSignature, range, error.message, error.hint);
    }
  }
  // A module constant such as TYPE = tl.float32, or an alias of a function.
  if (auto *named = value.get<language::Value::Named>()) {
    const size_t dot = named->path.rfind('.');
    if (dot != std::string::npos)
      return member(named->path.substr(0, dot), named->path.substr(dot + 1),
                    range);
    fail(DiagnosticId::NotSupported, range,
         "another name for `" + named->path + "` is not a value of a kernel",
         "write `" + named->path + "` itself");
  }
  fail(DiagnosticId::NotSupported, range,
       "a " + value.kindName() + " is not a value of a kernel",
       "kernels know numbers, bools, strings, types, None and tuples of them");
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
