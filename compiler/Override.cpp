// compiler/Override.cpp - replaces stages of a compilation by edited text.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "compiler/Override.h"

#include "support/Error.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Location.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Parser/Parser.h"

#include "llvm/Support/raw_ostream.h"

namespace tessera::compiler {
namespace {

std::string textOf(mlir::Type type) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  type.print(stream);
  return text;
}

SourceRange rangeOf(mlir::Location location) {
  if (auto place = mlir::dyn_cast<mlir::FileLineColLoc>(location))
    return {place.getLine(), place.getColumn(), place.getLine(),
            place.getColumn() + 1};
  return {};
}

// Parses the text. Throws CompileError with the errors that MLIR reports.
mlir::OwningOpRef<mlir::ModuleOp>
parse(mlir::MLIRContext *context, const std::shared_ptr<const SourceFile> &file,
      const std::string &stage) {
  std::vector<Diagnostic> diagnostics;
  const std::string hint =
      "this file replaces the stage `" + stage +
      "` (TESSERA_OVERRIDE); correct it, or remove it to compile the kernel";
  mlir::ScopedDiagnosticHandler handler(context, [&](mlir::Diagnostic &said) {
    if (said.getSeverity() == mlir::DiagnosticSeverity::Error)
      diagnostics.push_back(Diagnostic::make(DiagnosticId::BadOverride, file,
                                             rangeOf(said.getLocation()),
                                             said.str(), hint));
    return mlir::success();
  });
  auto module = mlir::parseSourceString<mlir::ModuleOp>(
      file->text(), mlir::ParserConfig(context), file->path());
  if (!module && diagnostics.empty())
    diagnostics.push_back(Diagnostic::make(DiagnosticId::BadOverride, file, {},
                                           "not a module of MLIR", hint));
  if (!diagnostics.empty())
    throw CompileError(std::move(diagnostics));
  return module;
}

} // namespace

const language::StageOverride *
findOverride(const language::CompileRequest &request, std::string_view stage) {
  for (const language::StageOverride &edited : request.overrides)
    if (edited.stage == stage)
      return &edited;
  return nullptr;
}

std::shared_ptr<const SourceFile>
replaceStage(mlir::ModuleOp module, const language::StageOverride &edited) {
  auto file = std::make_shared<SourceFile>(edited.path, edited.text);
  auto parsed = parse(module.getContext(), file, edited.stage);
  for (auto function : module.getOps<mlir::FunctionOpInterface>()) {
    if (function.isExternal())
      continue;
    const std::string name = function.getName().str();
    auto other = parsed->lookupSymbol<mlir::FunctionOpInterface>(name);
    if (!other)
      throw CompileError({Diagnostic::make(
          DiagnosticId::BadOverride, file, {1, 1, 1, 2},
          "the function @" + name + " is missing",
          "an edited stage keeps the functions of the original")});
    if (other.getFunctionType() != function.getFunctionType())
      throw CompileError({Diagnostic::make(
          DiagnosticId::BadOverride, file, rangeOf(other.getLoc()),
          "@" + name + " has the type " + textOf(other.getFunctionType()) +
              ", not " + textOf(function.getFunctionType()),
          "an edited stage keeps the arguments of the original: launches "
          "pass them by position")});
  }
  module.getBodyRegion().takeBody(parsed->getBodyRegion());
  module->setAttrs(parsed->getOperation()->getAttrDictionary());
  return file;
}

} // namespace tessera::compiler
