// codegen/cpu/object/Lines.cpp - lines of the kernel's source, kept to the
// object.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "codegen/cpu/object/Lines.h"

#include "support/InternalError.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/Transforms/Passes.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/PassManager.h"

#include "llvm/DebugInfo/DWARF/DWARFContext.h"
#include "llvm/Object/ELFObjectFile.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"

#include <algorithm>

namespace tessera::codegen::cpu {

void keepLines(mlir::ModuleOp module) {
  mlir::PassManager passes(module.getContext(),
                           module->getName().getStringRef());
  mlir::LLVM::DIScopeForLLVMFuncOpPassOptions options;
  options.emissionKind = mlir::LLVM::DIEmissionKind::LineTablesOnly;
  passes.addPass(mlir::LLVM::createDIScopeForLLVMFuncOpPass(options));
  if (mlir::failed(passes.run(module)))
    internalError("cannot keep the lines of the kernel");
}

namespace {
// The position of a function in an object file whose sections do not have
// addresses yet.
struct Place {
  uint64_t section = 0, begin = 0, end = 0;
};
} // namespace

static Place placeOf(const llvm::object::ObjectFile &file,
                     const std::string &entry) {
  for (const llvm::object::SymbolRef &symbol : file.symbols()) {
    auto name = symbol.getName();
    auto section = symbol.getSection();
    auto value = symbol.getValue();
    if (name && section && value && *name == entry &&
        *section != file.section_end())
      return {(*section)->getIndex(), *value,
              *value + llvm::object::ELFSymbolRef(symbol).getSize()};
    llvm::consumeError(name.takeError());
    llvm::consumeError(section.takeError());
    llvm::consumeError(value.takeError());
  }
  internalError("the object has no function " + entry);
}

static uint32_t numberOf(const std::string &file, LineTable &table) {
  auto found = std::find(table.files.begin(), table.files.end(), file);
  if (found == table.files.end())
    found = table.files.insert(found, file);
  return uint32_t(found - table.files.begin());
}

static void addRows(const llvm::DWARFDebugLine::LineTable &lines,
                    const Place &place, LineTable &table) {
  for (const llvm::DWARFDebugLine::Row &row : lines.Rows) {
    const uint64_t address = row.Address.Address;
    if (row.EndSequence || row.Address.SectionIndex != place.section ||
        address < place.begin || address >= place.end)
      continue;
    std::string path;
    lines.getFileNameByIndex(
        row.File, "", llvm::DILineInfoSpecifier::FileLineInfoKind::BaseNameOnly,
        path);
    const LineTable::Row next{uint32_t(address - place.begin), row.Line,
                              numberOf(path, table)};
    // The last of several rows for one instruction counts.
    if (!table.rows.empty() && table.rows.back().offset == next.offset)
      table.rows.pop_back();
    if (table.rows.empty() || table.rows.back().line != next.line ||
        table.rows.back().file != next.file)
      table.rows.push_back(next);
  }
}

LineTable linesOf(const std::string &object, const std::string &entry) {
  auto file = llvm::object::ObjectFile::createELFObjectFile(
      llvm::MemoryBufferRef(object, "kernel"));
  if (!file)
    internalError("not an object file: " + llvm::toString(file.takeError()));
  const Place place = placeOf(**file, entry);
  LineTable table;
  auto dwarf = llvm::DWARFContext::create(**file);
  for (const auto &unit : dwarf->compile_units())
    if (const auto *lines = dwarf->getLineTableForUnit(unit.get()))
      addRows(*lines, place, table);
  return table;
}

} // namespace tessera::codegen::cpu
