// autotune/model/CpuFollow.cpp - follows a kernel's numbers and addresses
// through its loops.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "autotune/model/CpuWork.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <optional>

namespace tessera::tune {

namespace {

using Kind = LoopsOp::Kind;
using Number = std::optional<int64_t>;

constexpr int64_t mostTrips = 1 << 16, sampledTrips = 8;

std::string_view lastWord(std::string_view text) {
  const size_t space = text.rfind(' ');
  return space == text.npos ? text : text.substr(space + 1);
}

// Of "i32"; 64 of addresses and what has no width of its own.
int widthOf(std::string_view type) {
  int bits = 64;
  if (type.starts_with("i"))
    std::from_chars(type.data() + 1, type.data() + type.size(), bits);
  return bits > 0 && bits < 64 ? bits : 64;
}

int64_t wrapped(int64_t value, int bits) {
  return int64_t(uint64_t(value) << (64 - bits)) >> (64 - bits);
}

uint64_t unsignedOf(int64_t value, int bits) {
  return uint64_t(value) << (64 - bits) >> (64 - bits);
}

Number compared(const std::string &rest, int64_t a, int64_t b, int bits) {
  const uint64_t ua = unsignedOf(a, bits), ub = unsignedOf(b, bits);
  const auto is = [&](const char *predicate) {
    return rest.starts_with(predicate);
  };
  return is(" eq")    ? Number(a == b)
         : is(" ne")  ? Number(a != b)
         : is(" slt") ? Number(a < b)
         : is(" sle") ? Number(a <= b)
         : is(" sgt") ? Number(a > b)
         : is(" sge") ? Number(a >= b)
         : is(" ult") ? Number(ua < ub)
         : is(" ule") ? Number(ua <= ub)
         : is(" ugt") ? Number(ua > ub)
         : is(" uge") ? Number(ua >= ub)
                      : std::nullopt;
}

Number quotient(const std::string &name, int64_t a, int64_t b, int bits) {
  if (b == 0 || b == -1)
    return std::nullopt;
  const uint64_t ua = unsignedOf(a, bits), ub = unsignedOf(b, bits);
  return name == "arith.divsi"   ? a / b
         : name == "arith.remsi" ? a % b
         : name == "arith.divui" ? int64_t(ua / ub)
                                 : int64_t(ua % ub);
}

Number ofTwo(const std::string &name, int64_t a, int64_t b, int bits) {
  const auto ua = uint64_t(a), ub = uint64_t(b);
  const auto is = [&](const char *what) {
    return std::string_view(name).substr(6) == what;
  };
  if (!name.starts_with("arith."))
    return std::nullopt;
  if (is("addi"))
    return int64_t(ua + ub);
  if (is("subi"))
    return int64_t(ua - ub);
  if (is("muli"))
    return int64_t(ua * ub);
  if (is("divsi") || is("remsi") || is("divui") || is("remui"))
    return quotient(name, a, b, bits);
  if (is("andi"))
    return a & b;
  if (is("ori"))
    return a | b;
  if (is("xori"))
    return a ^ b;
  if (is("minsi"))
    return std::min(a, b);
  if (is("maxsi"))
    return std::max(a, b);
  if (is("minui"))
    return unsignedOf(a, bits) < unsignedOf(b, bits) ? a : b;
  if (is("maxui"))
    return unsignedOf(a, bits) > unsignedOf(b, bits) ? a : b;
  if (b < 0 || b >= bits)
    return std::nullopt;
  if (is("shli"))
    return int64_t(ua << b);
  if (is("shrsi"))
    return a >> b;
  if (is("shrui"))
    return int64_t(unsignedOf(a, bits) >> b);
  return std::nullopt;
}

// One program.
class Follower {
public:
  Follower(const LoopsText &text,
           const std::vector<CpuWorkCounter::Facts> &facts,
           std::span<const ReadableMemory> memory)
      : facts(facts), memory(memory), values(size_t(text.values)) {}

  void set(int value, Number number) { values[size_t(value)] = number; }

  // What the block passes on to whoever holds it; empty where it passes on
  // nothing.
  std::span<const int> follow(const std::vector<LoopsOp> &block, double times) {
    for (const LoopsOp &op : block)
      switch (op.kind) {
      case Kind::Plain:
        work.add(factsOf(op).own, times);
        if (op.results == 1)
          set(op.firstResult, valueOf(op));
        break;
      case Kind::For:
        followFor(op, times);
        break;
      case Kind::While:
        followWhile(op, times);
        break;
      case Kind::If:
        followIf(op, times);
        break;
      case Kind::End:
        return op.operands;
      }
    return {};
  }

  CpuWork work;

private:
  const CpuWorkCounter::Facts &factsOf(const LoopsOp &op) const {
    return facts[size_t(op.number)];
  }

  Number at(int value) const { return values[size_t(value)]; }

  bool isReadable(uint64_t address, size_t bytes) const {
    return std::any_of(
        memory.begin(), memory.end(), [&](const ReadableMemory &one) {
          const auto begin = uint64_t(reinterpret_cast<uintptr_t>(one.begin));
          return address >= begin && bytes <= one.bytes &&
                 address - begin <= one.bytes - bytes;
        });
  }

  Number loaded(const LoopsOp &op) const {
    const std::string_view type = lastWord(op.type);
    const Number address = at(op.operands[0]);
    const bool pointer = type == "!llvm.ptr";
    if (!address || (!pointer && !type.starts_with("i")))
      return std::nullopt;
    const int bits = pointer ? 64 : widthOf(type);
    const auto bytes = size_t(std::max(bits / 8, 1));
    if (!isReadable(uint64_t(*address), bytes))
      return std::nullopt;
    int64_t value = 0;
    std::memcpy(&value, reinterpret_cast<const void *>(uintptr_t(*address)),
                bytes);
    return wrapped(value, bits);
  }

  Number addressOf(const LoopsOp &op) const {
    const std::string_view element = lastWord(op.type);
    const Number base = at(op.operands[0]);
    Number index;
    if (op.operands.size() > 1)
      index = at(op.operands[1]);
    else if (const size_t open = op.rest.find('['); open != op.rest.npos) {
      int64_t literal = 0;
      std::from_chars(op.rest.data() + open + 1,
                      op.rest.data() + op.rest.size(), literal);
      index = literal;
    }
    if (!base || !index)
      return std::nullopt;
    const int64_t bytes = element == "bf16" ? 2
                          : element.starts_with("f")
                              ? std::atoi(element.data() + 1) / 8
                          : element == "!llvm.ptr" ? 8
                                                   : (widthOf(element) + 7) / 8;
    return int64_t(uint64_t(*base) + uint64_t(*index) * uint64_t(bytes));
  }

  Number valueOf(const LoopsOp &op) const {
    if (op.type.find("vector") != op.type.npos)
      return std::nullopt;
    const std::string_view resultType = lastWord(op.type);
    if (op.name == "arith.constant")
      return constant(op, resultType);
    if (op.operands.empty())
      return std::nullopt;
    if (op.name == "llvm.load")
      return loaded(op);
    if (op.name == "llvm.getelementptr")
      return addressOf(op);
    const Number a = at(op.operands[0]);
    if (op.operands.size() == 1)
      return converted(op, a, resultType);
    const Number b = at(op.operands[1]);
    const int bits = widthOf(resultType);
    if (op.name == "arith.select")
      return a ? at(op.operands[*a ? 1 : 2]) : std::nullopt;
    if (!a || !b)
      return std::nullopt;
    if (op.name == "arith.cmpi")
      return compared(op.rest, *a, *b, bits);
    const Number value = ofTwo(op.name, *a, *b, bits);
    return value ? Number(wrapped(*value, bits)) : std::nullopt;
  }

  static Number constant(const LoopsOp &op, std::string_view type) {
    if (op.rest.starts_with(" true") || op.rest.starts_with(" false"))
      return op.rest.starts_with(" true");
    if (type != "index" && !type.starts_with("i"))
      return std::nullopt;
    int64_t value = 0;
    const char *begin = op.rest.data() + 1;
    if (std::from_chars(begin, op.rest.data() + op.rest.size(), value).ec !=
        std::errc())
      return std::nullopt;
    return value;
  }

  static Number converted(const LoopsOp &op, Number a,
                          std::string_view resultType) {
    if (!a)
      return std::nullopt;
    if (op.name == "arith.extui")
      return int64_t(unsignedOf(*a, widthOf(op.type)));
    if (op.name == "arith.trunci" || op.name == "arith.extsi" ||
        op.name == "arith.index_cast" || op.name == "llvm.ptrtoint" ||
        op.name == "llvm.inttoptr")
      return wrapped(*a, widthOf(resultType));
    return std::nullopt;
  }

  std::vector<Number> numbersOf(std::span<const int> list) const {
    std::vector<Number> numbers;
    for (int value : list)
      numbers.push_back(at(value));
    return numbers;
  }

  void setAll(std::span<const int> list, const std::vector<Number> &numbers,
              size_t skip = 0) {
    for (size_t i = 0; i < list.size(); ++i)
      set(list[i], i + skip < numbers.size() ? numbers[i + skip] : Number());
  }

  void setResults(const LoopsOp &op, const std::vector<Number> &numbers,
                  size_t skip = 0) {
    for (int i = 0; i < op.results; ++i)
      set(op.firstResult + i, size_t(i) + skip < numbers.size()
                                  ? numbers[size_t(i) + skip]
                                  : Number());
  }

  void followFor(const LoopsOp &op, double times) {
    const Number lower = at(op.operands[0]), upper = at(op.operands[1]),
                 step = at(op.operands[2]);
    std::vector<Number> carried = numbersOf(std::span(op.operands).subspan(3));
    if (!lower || !upper || !step || *step <= 0) {
      setAll(op.arguments, {});
      repeat(op, times * CpuWorkCounter::unknownTrips);
      setResults(op, {});
      return;
    }
    const int64_t trips =
        *upper <= *lower ? 0 : (*upper - *lower + *step - 1) / *step;
    if (factsOf(op).alike) {
      work.add(factsOf(op).iteration, times * double(trips));
      setResults(op, {});
      return;
    }
    const bool numbersCarried =
        std::any_of(carried.begin(), carried.end(),
                    [](const Number &one) { return one.has_value(); });
    const int64_t run =
        std::min(trips, numbersCarried ? mostTrips : sampledTrips);
    for (int64_t i = 0; i < run; ++i) {
      const int64_t trip =
          run == trips ? i : i * (trips - 1) / std::max<int64_t>(run - 1, 1);
      set(op.arguments[0], *lower + trip * *step);
      setAll(std::span(op.arguments).subspan(1), carried);
      carried = numbersOf(repeat(op, times * double(trips) / double(run)));
    }
    setResults(op, run == trips ? carried : std::vector<Number>());
  }

  std::span<const int> repeat(const LoopsOp &op, double times) {
    work.iterations += times;
    return follow(op.first, times);
  }

  void followWhile(const LoopsOp &op, double times) {
    setAll(op.arguments, numbersOf(op.operands));
    for (int64_t trip = 0; trip < mostTrips; ++trip) {
      const std::vector<Number> passed = numbersOf(follow(op.first, times));
      const Number goesOn = passed.empty() ? Number() : passed[0];
      if (goesOn && !*goesOn) {
        setResults(op, passed, 1);
        return;
      }
      setAll(op.secondArguments, passed, 1);
      const double often =
          goesOn ? times : times * CpuWorkCounter::unknownTrips;
      work.iterations += often;
      const std::vector<Number> next = numbersOf(follow(op.second, often));
      if (!goesOn)
        break;
      setAll(op.arguments, next);
    }
    setResults(op, {});
  }

  void followIf(const LoopsOp &op, double times) {
    const Number condition = at(op.operands[0]);
    if (condition) {
      setResults(op,
                 numbersOf(follow(*condition ? op.first : op.second, times)));
      return;
    }
    follow(op.first, times / 2);
    follow(op.second, times / 2);
    setResults(op, {});
  }

  const std::vector<CpuWorkCounter::Facts> &facts;
  const std::span<const ReadableMemory> memory;
  std::vector<Number> values;
};

} // namespace

CpuWork CpuWorkCounter::of(const uint32_t (&pid)[3], const Grid &grid,
                           std::span<const int64_t> slots,
                           std::span<const ReadableMemory> memory) const {
  std::vector<ReadableMemory> readable(memory.begin(), memory.end());
  readable.push_back({slots.data(), slots.size_bytes()});
  readable.push_back({pid, sizeof(pid)});
  readable.push_back({grid.data(), sizeof(grid)});
  Follower follower(text, facts, readable);
  const void *const given[] = {slots.data(), pid, grid.data()};
  for (size_t i = 0; i < std::size(given) && i < text.arguments.size(); ++i)
    follower.set(text.arguments[i],
                 int64_t(reinterpret_cast<uintptr_t>(given[i])));
  follower.follow(text.body, 1);
  return follower.work;
}

} // namespace tessera::tune
