// tests/unit/codegen/gpu/EmitterTest.cpp - references that the Emitter gives.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "codegen/gpu/lower/Emitter.h"
#include "tests/unit/codegen/gpu/GpuKernel.h"

#include "mlir/AsmParser/AsmParser.h"
#include <gtest/gtest.h>

#include <algorithm>

using namespace tessera;
using namespace mlir;

namespace {

class GpuEmitter : public testing::Test {
protected:
  GpuEmitter() {
    context.loadDialect<tile::TileDialect, arith::ArithDialect,
                        func::FuncDialect>();
    module = parseSourceString<ModuleOp>("func.func @k() {\n  return\n}\n",
                                         &context);
    options.target = GpuTarget::parse("sm_80");
    emitter.emplace(*module->getOps<func::FuncOp>().begin(), llvmModule,
                    options);
  }

  // 32 elements times two, one of 32 in each lane; `lanes`: which one.
  Type tensor(const std::string &lanes) {
    return parseType("tensor<64xf32, #tile.linear<64, register = [[32]], lane "
                     "= [" +
                         lanes + "], warp = [[0], [0]]>>",
                     &context);
  }

  MLIRContext context{MLIRContext::Threading::DISABLED};
  OwningOpRef<ModuleOp> module;
  llvm::LLVMContext llvmContext;
  llvm::Module llvmModule{"test", llvmContext};
  codegen::gpu::GpuOptions options;
  std::optional<codegen::gpu::Emitter> emitter;
};

// More layouts than any map keeps without moving its entries.
TEST_F(GpuEmitter, LayoutsStayWhereTheyAre) {
  // The lanes' columns in every order.
  std::vector<std::string> lanes = {"[1]", "[2]", "[4]", "[8]", "[16]"};
  std::sort(lanes.begin(), lanes.end());
  std::vector<std::pair<Type, const layout::LinearLayout *>> known;
  do {
    std::string columns;
    for (const std::string &lane : lanes)
      columns += (columns.empty() ? "" : ", ") + lane;
    Type type = tensor(columns);
    ASSERT_TRUE(type);
    known.emplace_back(type, &emitter->layoutOf(type));
  } while (std::next_permutation(lanes.begin(), lanes.end()));
  ASSERT_EQ(known.size(), 120u);
  for (const auto &[type, layout] : known) {
    EXPECT_EQ(&emitter->layoutOf(type), layout);
    EXPECT_EQ(*layout, tile::layoutOf(type).layout());
  }
}

TEST_F(GpuEmitter, RegistersStayWhereTheyAre) {
  Block block;
  std::vector<const codegen::gpu::Registers *> known;
  for (int i = 0; i < 200; ++i) {
    Value value = block.addArgument(tensor("[1], [2], [4], [8], [16]"),
                                    UnknownLoc::get(&context));
    llvm::Value *number = emitter->i32(i);
    emitter->set(value, {number, number});
    known.push_back(&emitter->get(value));
  }
  for (int i = 0; i < 200; ++i) {
    EXPECT_EQ(&emitter->get(block.getArgument(unsigned(i))), known[size_t(i)]);
    EXPECT_EQ((*known[size_t(i)])[1], emitter->i32(i));
  }
}

} // namespace
