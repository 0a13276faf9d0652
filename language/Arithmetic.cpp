// language/Arithmetic.cpp - Python's operators on compile-time values.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "language/Arithmetic.h"

#include <cmath>

namespace tessera::language {

[[noreturn]] static void overflow() {
  throw ValueProblem{"the result needs more than 127 bits",
                     "kernels compute with at most 64 bits"};
}

[[noreturn]] static void zeroDivision() {
  throw ValueProblem{"division by zero", "check the divisor"};
}

static Int floorDiv(Int a, Int b) {
  if (b == 0)
    zeroDivision();
  if (b == -1) {
    Int result;
    if (__builtin_sub_overflow(Int(0), a, &result))
      overflow();
    return result;
  }
  Int quotient = a / b;
  return quotient - ((a % b != 0 && (a < 0) != (b < 0)) ? 1 : 0);
}

static Int floorMod(Int a, Int b) {
  if (b == 0)
    zeroDivision();
  if (b == -1)
    return 0;
  Int rest = a % b;
  return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}

static Value power(Int base, Int exponent) {
  if (exponent < 0) {
    if (base == 0)
      zeroDivision();
    return std::pow(double(base), double(exponent));
  }
  Int result = 1;
  while (exponent) {
    if (exponent & 1)
      if (__builtin_mul_overflow(result, base, &result))
        overflow();
    exponent >>= 1;
    if (exponent && __builtin_mul_overflow(base, base, &base))
      overflow();
  }
  return result;
}

static Int shiftLeft(Int a, Int b) {
  if (b < 0)
    throw ValueProblem{"a shift by a negative number", "shift the other way"};
  if (a == 0)
    return 0;
  if (b > 126)
    overflow();
  Int result;
  if (__builtin_mul_overflow(a, Int(1) << b, &result))
    overflow();
  return result;
}

static Int shiftRight(Int a, Int b) {
  if (b < 0)
    throw ValueProblem{"a shift by a negative number", "shift the other way"};
  return a >> (b > 127 ? Int(127) : b);
}

static Value onInts(BinaryOp op, Int a, Int b) {
  Int result = 0;
  bool failed = false;
  switch (op) {
  case BinaryOp::Add:
    failed = __builtin_add_overflow(a, b, &result);
    break;
  case BinaryOp::Sub:
    failed = __builtin_sub_overflow(a, b, &result);
    break;
  case BinaryOp::Mul:
    failed = __builtin_mul_overflow(a, b, &result);
    break;
  case BinaryOp::Div:
    if (b == 0)
      zeroDivision();
    return double(a) / double(b);
  case BinaryOp::FloorDiv:
    return floorDiv(a, b);
  case BinaryOp::Mod:
    return floorMod(a, b);
  case BinaryOp::Pow:
    return power(a, b);
  case BinaryOp::LShift:
    return shiftLeft(a, b);
  case BinaryOp::RShift:
    return shiftRight(a, b);
  case BinaryOp::And:
    return a & b;
  case BinaryOp::Or:
    return a | b;
  case BinaryOp::Xor:
    return a ^ b;
  case BinaryOp::MatMul:
    throw ValueProblem{"`@` between numbers", "write `*`"};
  }
  if (failed)
    overflow();
  return result;
}

static std::optional<Value> onFloats(BinaryOp op, double a, double b) {
  switch (op) {
  case BinaryOp::Add:
    return a + b;
  case BinaryOp::Sub:
    return a - b;
  case BinaryOp::Mul:
    return a * b;
  case BinaryOp::Div:
    if (b == 0)
      zeroDivision();
    return a / b;
  case BinaryOp::FloorDiv:
  case BinaryOp::Mod: {
    if (b == 0)
      zeroDivision();
    double rest = std::fmod(a, b);
    double quotient = (a - rest) / b;
    if (rest != 0 && (rest < 0) != (b < 0)) {
      rest += b;
      quotient -= 1;
    } else if (rest == 0) {
      rest = std::copysign(0.0, b);
    }
    if (op == BinaryOp::Mod)
      return rest;
    if (quotient == 0)
      return std::copysign(0.0, a / b);
    double whole = std::floor(quotient);
    return quotient - whole > 0.5 ? whole + 1 : whole;
  }
  case BinaryOp::Pow:
    if (a == 0 && b < 0)
      zeroDivision();
    if (a < 0 && std::isfinite(b) && b != std::floor(b))
      throw ValueProblem{"a root of a negative number",
                         "the result would be complex"};
    return std::pow(a, b);
  default:
    return std::nullopt;
  }
}

size_t itemsIn(const Value &value) {
  size_t count = 1;
  if (const auto *text = value.get<std::string>())
    count += text->size() / 64;
  if (const auto *items = value.sequence())
    for (const Value &item : *items)
      count += itemsIn(item);
  if (const auto *dict = value.get<Value::Dict>())
    for (const auto &[key, item] : dict->items)
      count += itemsIn(key) + itemsIn(item);
  return count;
}

static std::vector<Value> repeat(const Value &list, Int count) {
  const std::vector<Value> &items = *list.sequence();
  std::vector<Value> result;
  if (count > Int(maxItems / itemsIn(list)))
    throw ValueProblem{"the list would be too long", "make it shorter"};
  for (Int i = 0; i < count; ++i)
    result.insert(result.end(), items.begin(), items.end());
  return result;
}

static std::optional<Value> onSequences(BinaryOp op, const Value &a,
                                        const Value &b) {
  const std::vector<Value> *left = a.sequence(), *right = b.sequence();
  if (op == BinaryOp::Add && left && right &&
      a.data.index() == b.data.index()) {
    if (itemsIn(a) + itemsIn(b) > maxItems)
      throw ValueProblem{"the list would be too long", "make it shorter"};
    std::vector<Value> items = *left;
    items.insert(items.end(), right->begin(), right->end());
    return a.is<Value::List>() ? Value(Value::List{std::move(items)})
                               : Value(Value::Tuple{std::move(items)});
  }
  if (op == BinaryOp::Mul && (left || right)) {
    const Value &list = left ? a : b;
    if (auto count = (left ? b : a).asInt()) {
      auto items = repeat(list, *count);
      return list.is<Value::List>() ? Value(Value::List{std::move(items)})
                                    : Value(Value::Tuple{std::move(items)});
    }
  }
  const auto *x = a.get<std::string>(), *y = b.get<std::string>();
  if (op == BinaryOp::Add && x && y) {
    if (x->size() + y->size() > maxItems)
      throw ValueProblem{"the text would be too long", "make it shorter"};
    return Value(*x + *y);
  }
  return std::nullopt;
}

Value applyBinary(BinaryOp op, const Value &a, const Value &b) {
  bool bits = op == BinaryOp::And || op == BinaryOp::Or || op == BinaryOp::Xor;
  if (auto x = a.asInt(), y = b.asInt(); x && y) {
    Value result = onInts(op, *x, *y);
    if (bits && a.is<bool>() && b.is<bool>())
      return result.truth();
    return result;
  }
  if (auto x = a.asFloat(), y = b.asFloat(); x && y)
    if (auto result = onFloats(op, *x, *y))
      return *result;
  if (auto result = onSequences(op, a, b))
    return *result;
  throw ValueProblem{std::string("`") + spelling(op) + "` between " +
                         a.kindName() + " and " + b.kindName(),
                     "Python has no such operation either"};
}

Value applyUnary(UnaryOp op, const Value &a) {
  if (op == UnaryOp::Not)
    return !a.truth();
  if (auto x = a.asInt()) {
    switch (op) {
    case UnaryOp::Neg:
      return applyBinary(BinaryOp::Sub, Value(0), Value(*x));
    case UnaryOp::Invert:
      return ~*x;
    default:
      return *x;
    }
  }
  if (const double *x = a.get<double>(); x && op != UnaryOp::Invert)
    return op == UnaryOp::Neg ? -*x : *x;
  throw ValueProblem{std::string("`") + spelling(op) + "` of " + a.kindName(),
                     "Python has no such operation either"};
}

static bool contains(const Value &container, const Value &item) {
  if (const std::vector<Value> *items = container.sequence()) {
    for (const Value &other : *items)
      if (other.equals(item))
        return true;
    return false;
  }
  if (const auto *dict = container.get<Value::Dict>()) {
    for (const auto &[key, value] : dict->items)
      if (key.equals(item))
        return true;
    return false;
  }
  const auto *text = container.get<std::string>();
  const auto *part = item.get<std::string>();
  if (text && part)
    return text->find(*part) != std::string::npos;
  throw ValueProblem{"`in` a " + container.kindName(),
                     "use a list, a tuple or a dict"};
}

static bool less(const Value &a, const Value &b);

static bool lessSequence(const std::vector<Value> &a,
                         const std::vector<Value> &b) {
  for (size_t i = 0; i < a.size() && i < b.size(); ++i)
    if (!a[i].equals(b[i]))
      return less(a[i], b[i]);
  return a.size() < b.size();
}

static bool less(const Value &a, const Value &b) {
  if (auto x = a.asInt(), y = b.asInt(); x && y)
    return *x < *y;
  if (auto x = a.asFloat(), y = b.asFloat(); x && y)
    return *x < *y;
  const auto *x = a.get<std::string>(), *y = b.get<std::string>();
  if (x && y)
    return *x < *y;
  if (a.sequence() && b.sequence() && a.data.index() == b.data.index())
    return lessSequence(*a.sequence(), *b.sequence());
  throw ValueProblem{"the order of " + a.kindName() + " and " + b.kindName(),
                     "compare values of one kind"};
}

bool applyCompare(CompareOp op, const Value &a, const Value &b) {
  auto isNan = [](const Value &value) {
    const double *number = value.get<double>();
    return number && std::isnan(*number);
  };
  switch (op) {
  case CompareOp::Eq:
    return a.equals(b);
  case CompareOp::Ne:
    return !a.equals(b);
  case CompareOp::Lt:
    return less(a, b);
  case CompareOp::Le:
    return !less(b, a) && !isNan(a) && !isNan(b);
  case CompareOp::Gt:
    return less(b, a);
  case CompareOp::Ge:
    return !less(a, b) && !isNan(a) && !isNan(b);
  case CompareOp::Is:
    return a.identical(b);
  case CompareOp::IsNot:
    return !a.identical(b);
  case CompareOp::In:
    return contains(b, a);
  case CompareOp::NotIn:
    return !contains(b, a);
  }
  return false;
}

} // namespace tessera::language
