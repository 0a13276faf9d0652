// tests/unit/codegen/gpu/RegisterLimitTest.cpp - how the register limit of
// ptxas is chosen, with assemblers whose behaviour is known.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "codegen/gpu/emit/RegisterLimit.h"

#include "ptx/Listing.h"
#include "support/CudaTools.h"
#include "support/Error.h"
#include "support/File.h"
#include "tests/unit/support/TemporaryFolder.h"

#include "llvm/BinaryFormat/ELF.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <map>
#include <optional>
#include <vector>

namespace tessera::codegen::gpu {
using namespace ptx;
namespace {

const std::string text =
    ".visible .entry k()\n.reqntid 128, 1, 1\n{\nret;\n}\n";

// An ELF file with one code section of so many instructions.
std::string cubinOf(uint64_t instructions) {
  namespace elf = llvm::ELF;
  const char names[] = "\0.text.k\0.shstrtab";
  elf::Elf64_Ehdr head{};
  std::memcpy(head.e_ident, elf::ElfMagic, 4);
  head.e_ident[elf::EI_CLASS] = elf::ELFCLASS64;
  head.e_ident[elf::EI_DATA] = elf::ELFDATA2LSB;
  head.e_ident[elf::EI_VERSION] = elf::EV_CURRENT;
  head.e_type = elf::ET_EXEC;
  head.e_machine = elf::EM_CUDA;
  head.e_ehsize = sizeof(head);
  head.e_shentsize = sizeof(elf::Elf64_Shdr);
  head.e_shnum = 3;
  head.e_shstrndx = 2;
  const uint64_t code = sizeof(head), strings = code + instructions * 16;
  head.e_shoff = strings + sizeof(names);
  elf::Elf64_Shdr sections[3] = {};
  sections[1].sh_name = 1;
  sections[1].sh_type = elf::SHT_PROGBITS;
  sections[1].sh_flags = elf::SHF_ALLOC | elf::SHF_EXECINSTR;
  sections[1].sh_offset = code;
  sections[1].sh_size = instructions * 16;
  sections[2].sh_name = 9;
  sections[2].sh_type = elf::SHT_STRTAB;
  sections[2].sh_offset = strings;
  sections[2].sh_size = sizeof(names);
  std::string file(reinterpret_cast<const char *>(&head), sizeof(head));
  file.resize(strings);
  file.append(names, sizeof(names));
  file.append(reinterpret_cast<const char *>(sections), sizeof(sections));
  return file;
}

struct Answer {
  uint32_t registers;
  uint64_t spills = 0, instructions = 100;
  bool fails = false;
};

class RegisterLimit : public ::testing::Test {
protected:
  // What ptxas answers when asked for so many blocks. What is not there must
  // not be asked.
  Assembled search(const std::map<uint32_t, Answer> &answers,
                   uint64_t sharedBytes = 0, uint32_t threads = 128,
                   const std::string &ptx = text) {
    asked.clear();
    RegisterLimitOptions options;
    options.assemble.target = GpuTarget::parse("sm_80");
    options.sharedBytes = sharedBytes;
    options.threads = threads;
    return assembleForOccupancy(ptx, options, [&](uint32_t blocks) {
      asked.push_back(blocks);
      const Answer &answer = answers.at(blocks);
      if (answer.fails)
        throw Error("ptxas died", "");
      Cubin cubin;
      cubin.bytes = cubinOf(answer.instructions);
      cubin.resources.registers = answer.registers;
      cubin.resources.spillStores = answer.spills;
      cubin.resources.known = true;
      return cubin;
    });
  }
  std::vector<uint32_t> asked;
};

using Asked = std::vector<uint32_t>;

TEST_F(RegisterLimit, CodeSizeIsTheCodeSection) {
  EXPECT_EQ(codeSize(cubinOf(123)), 123u);
  EXPECT_EQ(codeSize("no cubin"), 0u);
  EXPECT_EQ(codeSize(""), 0u);
}

TEST_F(RegisterLimit, FullSmIsAskedOnce) {
  const Assembled done = search({{0, {32}}});
  EXPECT_EQ(asked, Asked({0}));
  EXPECT_EQ(done.minBlocks, 0u);
}

TEST_F(RegisterLimit, SmallKernelTakesTheMostBlocksAtOnce) {
  const Assembled done = search({{0, {56}}, {16, {32}}});
  EXPECT_EQ(asked, Asked({0, 16}));
  EXPECT_EQ(done.minBlocks, 16u);
  EXPECT_EQ(done.cubin.resources.registers, 32u);
  EXPECT_EQ(done.attempts, 2u);
}

TEST_F(RegisterLimit, SmallKernelIsBisected) {
  // 60 registers are 8 blocks; 16 and 14 spill; 12 blocks are 40 registers.
  const Assembled done =
      search({{0, {60}}, {16, {32, 8}}, {12, {40}}, {14, {32, 4}}});
  EXPECT_EQ(asked, Asked({0, 16, 12, 14}));
  EXPECT_EQ(done.minBlocks, 12u);
}

TEST_F(RegisterLimit, LargeKernelGoesStepByStep) {
  // 147 registers are 3 blocks, 128 are 4, 96 are 5.
  const Assembled done = search({{0, {147}}, {4, {124}}, {5, {96, 16}}});
  EXPECT_EQ(asked, Asked({0, 4, 5}));
  EXPECT_EQ(done.minBlocks, 4u);
}

TEST_F(RegisterLimit, SharedMemoryEndsTheSearch) {
  // 60,000 bytes: two blocks, with as many registers as one likes.
  search({{0, {248}}}, 60000);
  EXPECT_EQ(asked, Asked({0}));
}

TEST_F(RegisterLimit, MoreInstructionsThanAnEighthDoNotPay) {
  Assembled done = search({{0, {147, 0, 800}}, {4, {124, 0, 901}}});
  EXPECT_EQ(done.minBlocks, 0u);
  done = search({{0, {147, 0, 800}}, {4, {124, 0, 900}}, {5, {96, 8, 900}}});
  EXPECT_EQ(done.minBlocks, 4u);
}

TEST_F(RegisterLimit, PtxasThatGivesUpIsAskedForOneBlock) {
  Assembled done = search({{0, {32, 33238, 10528}}, {1, {255, 2744}}}, 98304);
  EXPECT_EQ(done.minBlocks, 1u);
  EXPECT_EQ(done.cubin.resources.spillStores, 2744u);
  // Without a gain the text stays as it is.
  done = search({{0, {32, 64}}, {1, {255, 64}}}, 98304);
  EXPECT_EQ(done.minBlocks, 0u);
}

TEST_F(RegisterLimit, NothingIsLeftToGiveWhenAllRegistersSpill) {
  search({{0, {255, 136}}});
  EXPECT_EQ(asked, Asked({0}));
}

TEST_F(RegisterLimit, VeryLargeTextsAreAskedForOneBlockAtOnce) {
  const std::string large = text + "// " + std::string(200000, 'x') + "\n";
  const Assembled done = search({{1, {255, 136}}}, 98304, 128, large);
  EXPECT_EQ(asked, Asked({1}));
  EXPECT_EQ(done.minBlocks, 1u);
}

TEST_F(RegisterLimit, OwnDirectivesStay) {
  std::string own = text;
  own.insert(own.find('{'), ".maxnreg 40\n");
  EXPECT_EQ(search({{0, {56}}}, 0, 128, own).minBlocks, 0u);
  EXPECT_EQ(asked, Asked({0}));
}

// Dies, or does not end, when it is asked for more: what there is stays.
TEST_F(RegisterLimit, FailedRetriesKeepWhatThereIs) {
  Answer dead{0};
  dead.fails = true;
  Assembled done = search({{0, {56}}, {16, dead}});
  EXPECT_EQ(asked, Asked({0, 16}));
  EXPECT_EQ(done.minBlocks, 0u);
  EXPECT_EQ(done.cubin.resources.registers, 56u);
  // The best so far, not the first, and the pass does not wait for a third
  // time-out.
  done = search({{0, {147}}, {4, {124}}, {5, dead}});
  EXPECT_EQ(done.minBlocks, 4u);
  EXPECT_EQ(done.cubin.resources.registers, 124u);
  done = search({{0, {60}}, {16, dead}, {12, {40}}});
  EXPECT_EQ(asked, Asked({0, 16}));
  // One that gives up and then dies.
  done = search({{0, {32, 33238}}, {1, dead}}, 98304);
  EXPECT_EQ(done.cubin.resources.spillStores, 33238u);
  // Nothing to keep: the error.
  EXPECT_THROW(search({{0, dead}}), Error);
}

// Four runs are what a kernel may cost.
TEST_F(RegisterLimit, FourRunsAtMost) {
  const Assembled done = search(
      {{0, {250}}, {3, {160}}, {4, {124}}, {5, {96}}, {6, {80}}, {7, {72}}});
  EXPECT_EQ(asked, Asked({0, 3, 4, 5}));
  EXPECT_EQ(done.attempts, 4u);
}

// The same through processes: ptxas fails at its second call.
TEST_F(RegisterLimit, PtxasThatDiesTheSecondTime) {
  TemporaryFolder folder;
  const std::filesystem::path calls = folder.path() / "calls",
                              cubin = folder.path() / "cubin",
                              script = folder.path() / "ptxas";
  writeFile(cubin, cubinOf(100));
  writeFile(script, "#!/bin/sh\necho \"$*\" >> " + calls.string() +
                        "\ntest $(wc -l < " + calls.string() +
                        ") = 1 || kill -SEGV $$\ncat " + cubin.string() +
                        " > /dev/fd/4\n"
                        "echo \"ptxas info : Compiling entry function 'k' for "
                        "'sm_80'\"\necho 'ptxas info : Used 56 registers'\n");
  std::filesystem::permissions(script, std::filesystem::perms::owner_all);
  RegisterLimitOptions options;
  options.assemble.ptxas = script;
  options.assemble.target = GpuTarget::parse("sm_80");
  options.assemble.kernel = "k";
  options.threads = 128;
  const Assembled done = assembleForOccupancy(text, options);
  EXPECT_EQ(done.cubin.bytes, cubinOf(100));
  EXPECT_EQ(done.cubin.resources.registers, 56u);
  EXPECT_EQ(done.minBlocks, 0u);
  EXPECT_EQ(readFile(calls),
            "-v -lineinfo --gpu-name=sm_80 /dev/fd/3 -o /dev/fd/4\n"
            "-v -lineinfo --gpu-name=sm_80 --minnctapersm=16 /dev/fd/3 -o "
            "/dev/fd/4\n");
}

TEST_F(RegisterLimit, RealPtxasAgreesOnTheSize) {
  std::string why;
  const std::optional<Ptxas> ptxas = findPtxas({}, &why);
  if (!ptxas && std::getenv("TEST_COMPLETE"))
    FAIL() << why;
  if (!ptxas)
    GTEST_SKIP() << why;
  RegisterLimitOptions options;
  options.assemble.ptxas = ptxas->path;
  options.assemble.target = GpuTarget::parse("sm_80");
  options.assemble.kernel = "k";
  options.threads = 128;
  // 40 loads that are all summed: the order is free, the registers are not
  // needed.
  std::string ptx = ".version 8.7\n.target sm_80\n.address_size 64\n"
                    ".visible .entry k(.param .u64 p)\n.reqntid 128, 1, 1\n{\n"
                    ".reg .b64 %rd<2>; .reg .f32 %f<42>;\n"
                    "ld.param.u64 %rd1, [p];\n";
  for (int i = 1; i <= 40; ++i)
    ptx += "ld.global.f32 %f" + std::to_string(i) + ", [%rd1+" +
           std::to_string(512 * i) + "];\n";
  for (int i = 2; i <= 40; ++i)
    ptx += "add.f32 %f1, %f1, %f" + std::to_string(i) + ";\n";
  ptx += "st.global.f32 [%rd1], %f1;\nret;\n}\n";
  AssembleOptions one = options.assemble, same = options.assemble;
  one.minBlocks = 1;
  const Cubin plain = assemble(ptx, one);
  const Assembled best = assembleForOccupancy(ptx, options);
  EXPECT_EQ(best.cubin.resources.spillStores, 0u);
  EXPECT_LE(best.cubin.resources.registers, 32u);
  EXPECT_GT(plain.resources.registers, 32u) << "nothing was to be gained";
  same.minBlocks = best.minBlocks;
  EXPECT_EQ(assemble(ptx, same).bytes, best.cubin.bytes);
  const auto nvdisasm = findDisassembler(ptxas->path);
  if (!nvdisasm && std::getenv("TEST_COMPLETE"))
    FAIL() << "no nvdisasm";
  if (!nvdisasm)
    GTEST_SKIP() << "no nvdisasm";
  const Listing sass = readSass(disassemble(best.cubin.bytes, *nvdisasm), "k");
  // A jump to itself and NOPs follow, which are not counted.
  EXPECT_GE(codeSize(best.cubin.bytes), sass.counts.total());
  EXPECT_LE(codeSize(best.cubin.bytes), sass.counts.total() + 16);
}

} // namespace
} // namespace tessera::codegen::gpu
