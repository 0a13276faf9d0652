// compiler/semantics/Constants.cpp - folding as Python does it.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "compiler/semantics/Constants.h"

#include <algorithm>
#include <charconv>
#include <cmath>

namespace tessera::semantics {
namespace {

using Int = Const::Int;

Folded refuse(std::string why) { return {Const(), std::move(why)}; }
Folded tooLarge() { return refuse("the integer leaves 128 bits"); }

Folded unsupported(std::string_view op, const Const &a, const Const &b) {
  return refuse("`" + std::string(op) + "` is not defined between " +
                a.kindName() + " and " + b.kindName());
}

Int floorDiv(Int a, Int b) {
  Int quotient = a / b;
  return quotient - ((a % b != 0) && ((a < 0) != (b < 0)));
}

double floorMod(double a, double b) {
  double rest = std::fmod(a, b);
  if (rest != 0.0 && (rest < 0.0) != (b < 0.0))
    rest += b;
  return rest;
}

Folded powerOfInts(Int base, Int exponent) {
  if (exponent < 0)
    return {Const(std::pow(double(base), double(exponent))), ""};
  Int result = 1;
  for (Int i = 0; i < exponent; ++i) {
    if (__builtin_mul_overflow(result, base, &result))
      return tooLarge();
    if (result == 0 || (result == 1 && base == 1))
      break;
    if (base == -1)
      return {Const(Int(exponent % 2 ? -1 : 1)), ""};
  }
  return {Const(result), ""};
}

Folded foldInts(BinaryOp op, Int a, Int b) {
  Int result = 0;
  bool overflow = false;
  switch (op) {
  case BinaryOp::Add:
    overflow = __builtin_add_overflow(a, b, &result);
    break;
  case BinaryOp::Sub:
    overflow = __builtin_sub_overflow(a, b, &result);
    break;
  case BinaryOp::Mul:
    overflow = __builtin_mul_overflow(a, b, &result);
    break;
  case BinaryOp::Div:
    if (b == 0)
      return refuse("division by zero");
    return {Const(double(a) / double(b)), ""};
  case BinaryOp::FloorDiv:
    if (b == 0)
      return refuse("division by zero");
    result = floorDiv(a, b);
    break;
  case BinaryOp::Mod:
    if (b == 0)
      return refuse("division by zero");
    result = a - floorDiv(a, b) * b;
    break;
  case BinaryOp::Pow:
    if (a == 0 && b < 0)
      return refuse("division by zero");
    return powerOfInts(a, b);
  case BinaryOp::LShift:
    if (b < 0)
      return refuse("negative shift count");
    if (b > 126 || (a != 0 && ((a << int(b)) >> int(b)) != a))
      return a == 0 ? Folded{Const(Int(0)), ""} : tooLarge();
    result = a << int(b);
    break;
  case BinaryOp::RShift:
    if (b < 0)
      return refuse("negative shift count");
    result = b > 126 ? (a < 0 ? -1 : 0) : a >> int(b);
    break;
  case BinaryOp::And:
    result = a & b;
    break;
  case BinaryOp::Or:
    result = a | b;
    break;
  case BinaryOp::Xor:
    result = a ^ b;
    break;
  }
  return overflow ? tooLarge() : Folded{Const(result), ""};
}

Folded foldFloats(BinaryOp op, double a, double b) {
  bool divides =
      op == BinaryOp::Div || op == BinaryOp::FloorDiv || op == BinaryOp::Mod;
  if (divides && b == 0.0)
    return refuse("division by zero");
  switch (op) {
  case BinaryOp::Add:
    return {Const(a + b), ""};
  case BinaryOp::Sub:
    return {Const(a - b), ""};
  case BinaryOp::Mul:
    return {Const(a * b), ""};
  case BinaryOp::Div:
    return {Const(a / b), ""};
  case BinaryOp::FloorDiv:
    return {Const(std::floor(a / b)), ""};
  case BinaryOp::Mod:
    return {Const(floorMod(a, b)), ""};
  case BinaryOp::Pow:
    return {Const(std::pow(a, b)), ""};
  default:
    return refuse("`" + std::string(spelling(op)) + "` needs integers");
  }
}

template <typename T>
bool compare(CompareOp op, const T &a, const T &b) {
  switch (op) {
  case CompareOp::Eq:
    return a == b;
  case CompareOp::Ne:
    return a != b;
  case CompareOp::Lt:
    return a < b;
  case CompareOp::Le:
    return a <= b;
  case CompareOp::Gt:
    return a > b;
  case CompareOp::Ge:
    return a >= b;
  }
  return false;
}

} // namespace

Folded foldBinary(BinaryOp op, const Const &a, const Const &b) {
  bool logic = op == BinaryOp::And || op == BinaryOp::Or || op == BinaryOp::Xor;
  if (logic && a.isBool() && b.isBool()) {
    Folded folded = foldInts(op, *a.asInt(), *b.asInt());
    return {Const(folded.value.truth()), ""};
  }
  if (a.asInt() && b.asInt())
    return foldInts(op, *a.asInt(), *b.asInt());
  if (a.asFloat() && b.asFloat())
    return foldFloats(op, *a.asFloat(), *b.asFloat());
  if (op == BinaryOp::Add && a.isString() && b.isString()) {
    if (a.string().size() + b.string().size() > kMaxTextBytes)
      return refuse("the text would be too long");
    return {Const(a.string() + b.string()), ""};
  }
  return unsupported(spelling(op), a, b);
}

Folded foldUnary(UnaryOp op, const Const &a) {
  if (op == UnaryOp::Not)
    return {Const(!a.truth()), ""};
  if (auto value = a.asInt()) {
    if (op == UnaryOp::Neg)
      return {Const(Int(-*value)), ""};
    return {Const(op == UnaryOp::Invert ? Int(~*value) : *value), ""};
  }
  if (a.isFloat() && op != UnaryOp::Invert) {
    double value = *a.asFloat();
    return {Const(op == UnaryOp::Neg ? -value : value), ""};
  }
  return refuse("`" + std::string(spelling(op)) + "` is not defined for " +
                a.kindName());
}

Folded foldCompare(CompareOp op, const Const &a, const Const &b) {
  if (op == CompareOp::Eq)
    return {Const(a.equals(b)), ""};
  if (op == CompareOp::Ne)
    return {Const(!a.equals(b)), ""};
  if (a.asInt() && b.asInt())
    return {Const(compare(op, *a.asInt(), *b.asInt())), ""};
  if (a.asFloat() && b.asFloat())
    return {Const(compare(op, *a.asFloat(), *b.asFloat())), ""};
  if (a.isString() && b.isString())
    return {Const(compare(op, a.string(), b.string())), ""};
  return unsupported(spelling(op), a, b);
}

std::string printInt(Int value) {
  if (value == 0)
    return "0";
  bool negative = value < 0;
  unsigned __int128 rest = negative ? -(unsigned __int128)value : value;
  std::string digits;
  for (; rest; rest /= 10)
    digits += char('0' + int(rest % 10));
  if (negative)
    digits += '-';
  return {digits.rbegin(), digits.rend()};
}

std::string printFloat(double value) {
  if (std::isnan(value))
    return "nan";
  if (std::isinf(value))
    return value < 0 ? "-inf" : "inf";
  char buffer[40];
  auto [end, error] = std::to_chars(buffer, buffer + sizeof buffer, value);
  std::string text(buffer, end);
  if (text.find_first_of(".e") == std::string::npos)
    text += ".0";
  return text;
}

std::optional<double> parseFloat(std::string_view text) {
  auto isSpace = [](char c) { return c == ' ' || c == '\t' || c == '\n'; };
  while (!text.empty() && isSpace(text.front()))
    text.remove_prefix(1);
  while (!text.empty() && isSpace(text.back()))
    text.remove_suffix(1);
  bool negative = !text.empty() && text.front() == '-';
  if (!text.empty() && (text.front() == '-' || text.front() == '+'))
    text.remove_prefix(1);
  std::string lower(text);
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](unsigned char c) { return char(std::tolower(c)); });
  double value = 0;
  if (lower == "inf" || lower == "infinity") {
    value = HUGE_VAL;
  } else if (lower == "nan") {
    value = std::nan("");
  } else {
    if (lower.empty() ||
        !(std::isdigit((unsigned char)lower[0]) || lower[0] == '.'))
      return std::nullopt;
    auto [end, error] =
        std::from_chars(lower.data(), lower.data() + lower.size(), value);
    if (error != std::errc() || end != lower.data() + lower.size())
      return std::nullopt;
  }
  return negative ? -value : value;
}

} // namespace tessera::semantics
