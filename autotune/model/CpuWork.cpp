// autotune/model/CpuWork.cpp - what the programs of a launch on the cpu have to
// do.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "autotune/model/CpuWork.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>

namespace tessera::tune {

namespace {

struct VectorType {
  double elements = 0, bits = 0; // of an element
  double machineVectors(unsigned vectorBits) const {
    return std::max(1.0, std::ceil(elements * bits / vectorBits));
  }
};

double bitsOf(std::string_view element) {
  if (element.find("ptr") != element.npos || element.find("64") != element.npos)
    return 64;
  if (element.find("16") != element.npos)
    return 16;
  if (element.starts_with("i8") || element.starts_with("f8"))
    return 8;
  return element.starts_with("i1") ? 1 : 32;
}

// The one that fills the most bits; no elements without any.
VectorType widestVector(std::string_view type) {
  constexpr std::string_view start = "vector<";
  VectorType widest;
  for (size_t at = type.find(start); at != type.npos;
       at = type.find(start, at)) {
    at += start.size();
    VectorType one;
    int64_t elements = 0;
    const auto [end, error] =
        std::from_chars(type.data() + at, type.data() + type.size(), elements);
    if (error != std::errc() || *end != 'x')
      continue;
    one.elements = double(elements);
    const std::string_view element = type.substr(size_t(end + 1 - type.data()));
    one.bits = bitsOf(element.substr(0, element.find('>')));
    if (one.elements * one.bits > widest.elements * widest.bits)
      widest = one;
  }
  return widest;
}

bool isOneOf(std::string_view name, std::initializer_list<const char *> list) {
  return std::find(list.begin(), list.end(), name) != list.end();
}

// Instructions that one of a function's calls becomes, about.
double expansion(std::string_view name) {
  if (name.starts_with("math.") && name != "math.fma")
    return isOneOf(name, {"math.absf", "math.floor", "math.ceil"}) ? 1 : 12;
  if (isOneOf(name, {"arith.divf", "arith.remf", "arith.divsi", "arith.divui",
                     "arith.remsi", "arith.remui"}))
    return 6;
  return 1;
}

// Names that are no instructions, or vanish in what uses them.
bool isFree(std::string_view name) {
  return isOneOf(name, {"arith.constant", "llvm.mlir.undef", "llvm.mlir.zero",
                        "llvm.insertelement", "llvm.bitcast", "arith.bitcast",
                        "llvm.mlir.poison", "llvm.mlir.constant"});
}

CpuWork workOnVectors(const LoopsOp &op, const VectorType &vector,
                      unsigned vectorBits) {
  const double count = vector.machineVectors(vectorBits);
  CpuWork work;
  if (op.name == "llvm.intr.masked.gather" ||
      op.name == "llvm.intr.masked.scatter")
    work.moves = vector.elements;
  else if (isOneOf(op.name, {"llvm.load", "llvm.store", "llvm.intr.masked.load",
                             "llvm.intr.masked.store"}))
    work.moves = count;
  else if (op.name == "llvm.shufflevector")
    // A broadcast takes its element from memory.
    (op.rest.find("[0, 0") != op.rest.npos ? work.moves : work.arithmetic) =
        count;
  else if (op.name.ends_with(".fma") || op.rest.find("dpbf16") != op.rest.npos)
    work.products = count;
  else
    work.arithmetic = count * expansion(op.name);
  return work;
}

using Facts = CpuWorkCounter::Facts;

// Fills in the facts of operations, those of loops after what they hold.
class FactFinder {
public:
  FactFinder(unsigned vectorBits, std::vector<Facts> &facts)
      : vectorBits(vectorBits), facts(facts) {}

  void find(const std::vector<LoopsOp> &block) {
    for (const LoopsOp &op : block) {
      if (op.name == "arith.constant")
        noteConstant(op);
      facts[size_t(op.number)].own = workOf(op, vectorBits);
      find(op.first);
      find(op.second);
      if (op.kind == LoopsOp::Kind::For)
        findIteration(op);
    }
  }

private:
  void noteConstant(const LoopsOp &op) {
    int64_t value = 0;
    const char *begin = op.rest.data() + std::min<size_t>(op.rest.size(), 1);
    if (std::from_chars(begin, op.rest.data() + op.rest.size(), value).ec ==
        std::errc())
      constants[op.firstResult] = value;
  }

  // Without constant bounds 0.
  int64_t tripsOf(const LoopsOp &loop) const {
    int64_t bounds[3] = {};
    for (size_t i = 0; i < 3; ++i) {
      const auto found = constants.find(loop.operands[i]);
      if (found == constants.end())
        return 0;
      bounds[i] = found->second;
    }
    const auto [lower, upper, step] = bounds;
    return step > 0 && upper > lower ? (upper - lower + step - 1) / step : 0;
  }

  void findIteration(const LoopsOp &loop) {
    CpuWork work;
    work.iterations = 1;
    for (const LoopsOp &op : loop.first) {
      const Facts &inner = facts[size_t(op.number)];
      const bool plain =
          op.kind == LoopsOp::Kind::Plain || op.kind == LoopsOp::Kind::End;
      if (plain)
        work += inner.own;
      else if (const int64_t trips = inner.alike ? tripsOf(op) : 0)
        work.add(inner.iteration, double(trips));
      else
        return;
    }
    facts[size_t(loop.number)].alike = true;
    facts[size_t(loop.number)].iteration = work;
  }

  const unsigned vectorBits;
  std::vector<Facts> &facts;
  std::map<int, int64_t> constants;
};

} // namespace

CpuWorkCounter::CpuWorkCounter(LoopsText given, unsigned vectorBits)
    : text(std::move(given)), facts(size_t(text.operations)) {
  FactFinder(vectorBits, facts).find(text.body);
}

CpuWork &CpuWork::add(const CpuWork &other, double times) {
  products += times * other.products;
  arithmetic += times * other.arithmetic;
  moves += times * other.moves;
  scalars += times * other.scalars;
  iterations += times * other.iterations;
  return *this;
}

CpuWork workOf(const LoopsOp &op, unsigned vectorBits) {
  if (op.kind != LoopsOp::Kind::Plain || isFree(op.name))
    return {};
  if (const VectorType vector = widestVector(op.type); vector.elements > 0)
    return workOnVectors(op, vector, vectorBits);
  CpuWork work;
  work.scalars = expansion(op.name);
  return work;
}

LaunchWork launchWork(const CpuWorkCounter &counter, const Grid &grid,
                      std::span<const int64_t> slots,
                      std::span<const ReadableMemory> memory, int samples) {
  LaunchWork result;
  const auto programs = int64_t(grid[0]) * grid[1] * grid[2];
  result.programs = double(programs);
  result.scratchBytes = counter.scratchBytes();
  const int64_t count = std::min<int64_t>(samples, programs);
  const auto operations = [](const CpuWork &work) {
    return work.products + work.arithmetic + work.moves + work.scalars;
  };
  for (int64_t i = 0; i < count; ++i) {
    const int64_t number =
        count > 1 ? i * (programs - 1) / (count - 1) : programs - 1;
    const uint32_t pid[3] = {uint32_t(number % grid[0]),
                             uint32_t(number / grid[0] % grid[1]),
                             uint32_t(number / grid[0] / grid[1])};
    const CpuWork work = counter.of(pid, grid, slots, memory);
    result.all.add(work, double(programs) / double(count));
    if (operations(work) > operations(result.largest))
      result.largest = work;
  }
  return result;
}

} // namespace tessera::tune
