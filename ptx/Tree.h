// ptx/Tree.h - the syntax tree of a PTX module: names are resolved,
// instructions are not decoded.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tessera::ptx {

inline constexpr uint32_t None = ~uint32_t{0};

// State spaces of variables (PTX ISA, "State Spaces").
enum class Space : uint8_t { Global, Const, Shared, Local, Param };

// An address in an initializer.
struct Relocation {
  uint64_t offset = 0; // bytes from the variable's start
  std::string symbol;
  int64_t addend = 0;
};

struct Variable {
  std::string name;
  Space space = Space::Global;
  uint32_t align = 1;        // bytes
  uint32_t elementBytes = 1; // of one element (.v4.f32: 16)
  uint64_t bytes = 0;        // all elements; 0: set by the launch
  bool isExtern = false;
  bool isPointer = false;    // a kernel parameter declared .ptr
  std::vector<uint8_t> init; // shorter than `bytes`: the rest is zero
  std::vector<Relocation> relocations;
  uint32_t line = 0;
};

enum class Special : uint8_t {
#define SPECIAL(enumerator, name) enumerator,
#include "ptx/Special.def"
};

struct Operand {
  enum class Kind : uint8_t {
    Register, // index: into Function::registers
    Special,  // index: a Special
    Integer,  // value
    Float32,  // value holds the bits
    Float64,  // value holds the bits of a double
    Symbol,   // a variable (+ value bytes)
    Address,  // [items[0] + value]; further items: coordinates and barriers
    Vector,   // {items}
    List,     // (items): of a call
    Pair,     // items[0]|items[1]
    Label,    // index: into Function::labels
    Function, // name in text
    Table,    // index: into Function::tables
    Name,     // text: declared nowhere (Names::Kept)
    Sink,     // _
  };
  Kind kind = Kind::Sink;
  bool negated = false;     // !p
  bool moduleScope = false; // Symbol: index is into Module::variables
  uint32_t index = None;
  int64_t value = 0;
  std::string text;
  std::vector<Operand> items;
};

struct Instruction {
  uint32_t line = 0, lastLine = 0; // of the opcode, of the semicolon
  uint32_t location = None;        // into Module::locations
  std::string guard;         // name of the predicate; empty: unconditional
  uint32_t predicate = None; // its register; None also if it is not declared
  bool predicateNegated = false;
  std::string opcode; // with its suffixes
  std::vector<Operand> operands;
};

// .loc: the source location of the following instructions.
struct Location {
  uint32_t file = 0, line = 0, column = 0;
  uint32_t inlinedAt = None; // into Module::locations
};

struct Register {
  uint16_t bits = 32;       // 1: predicate
  std::string name, type;   // "%r1", "b32"
  bool startsRange = false; // %r0 of %r<8>, which compilers leave unused
};

struct Label {
  std::string name;
  uint32_t target = None; // instruction of Function::body
};

struct Function {
  std::string name;
  bool isEntry = false;
  bool hasBody = false;
  uint32_t line = 0, lastLine = 0; // of the name, of the closing brace
  // Variables (space Param); a .reg parameter of a function is a register.
  struct Parameter {
    uint32_t variable = None, reg = None;
  };
  std::vector<Parameter> parameters, results;
  std::array<uint32_t, 3> reqntid{0, 0, 0}, maxntid{0, 0, 0};
  uint32_t minCtasPerSm = 0, maxRegisters = 0;
  std::vector<Register> registers;
  std::vector<Variable> variables;
  std::vector<Label> labels;
  std::vector<std::vector<uint32_t>> tables; // .branchtargets: labels
  std::vector<Instruction> body;
};

// A file that .loc refers to by number.
struct NumberedFile {
  uint32_t number = 0;
  std::string path;
};

struct Module {
  std::string name;
  uint32_t versionMajor = 0, versionMinor = 0;
  std::string target; // sm_80
  std::vector<NumberedFile> files;
  std::vector<Location> locations;
  std::vector<Variable> variables;
  std::vector<Function> functions;

  // Returns "kernel.py:12:4", or "" for None. Inlined calls follow, outermost
  // last.
  std::string describe(uint32_t location) const;
  // Returns the line of the statement itself, or 0.
  uint32_t sourceLine(uint32_t location) const;
  const Function *find(std::string_view function) const;
};

// How the parser treats undeclared names: unknown special registers, and
// functions called through registers. Kept: listings keep such names. Declared:
// an error, because the simulator cannot execute them.
enum class Names : uint8_t { Declared, Kept };

// Parses PTX 7.0 to 9.x; with Names::Kept, any version and texts without a
// target. Accepts any opcode; isa/Table.h looks instructions up. Throws Error
// with `name` and the line.
Module parsePtx(std::string_view text, const std::string &name,
                Names names = Names::Declared);

} // namespace tessera::ptx
