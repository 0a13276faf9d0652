// compiler/semantics/Constants.cpp - folds constants as Python does.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "compiler/semantics/Constants.h"

#include <algorithm>
#include <charconv>
#include <cmath>

namespace tessera::semantics {
namespace {

using language::ValueProblem;

Folded refuse(std::string why) { return {Const(), std::move(why)}; }

Folded unsupported(std::string_view op, const Const &a, const Const &b) {
  return refuse("`" + std::string(op) + "` is not defined between " +
                a.kindName() + " and " + b.kindName());
}

// Converts a number or a string.
language::Value toLanguage(const Const &value) {
  if (value.isBool())
    return value.truth();
  if (auto number = value.asInt())
    return *number;
  if (auto number = value.asFloat())
    return *number;
  return value.string();
}
Const fromLanguage(const language::Value &value) {
  return std::visit(
      [](const auto &data) {
        if constexpr (std::is_constructible_v<Const, decltype(data)>)
          return Const(data);
        else
          return Const();
      },
      value.data);
}

template <typename F>
Folded folded(F compute) {
  try {
    return {fromLanguage(compute()), ""};
  } catch (const ValueProblem &problem) {
    return refuse(problem.message);
  }
}

} // namespace

Folded foldBinary(BinaryOp op, const Const &a, const Const &b) {
  const bool texts = op == BinaryOp::Add && a.isString() && b.isString();
  if (!texts && !(a.isNumber() && b.isNumber()))
    return unsupported(spelling(op), a, b);
  if ((op >= BinaryOp::LShift && op <= BinaryOp::Xor) &&
      (a.isFloat() || b.isFloat()))
    return refuse("`" + std::string(spelling(op)) + "` needs integers");
  return folded([&] { return applyBinary(op, toLanguage(a), toLanguage(b)); });
}

Folded foldUnary(UnaryOp op, const Const &a) {
  if (op == UnaryOp::Not)
    return {Const(!a.truth()), ""};
  if (!a.isNumber() || (a.isFloat() && op == UnaryOp::Invert))
    return refuse("`" + std::string(spelling(op)) + "` is not defined for " +
                  a.kindName());
  return folded([&] { return applyUnary(op, toLanguage(a)); });
}

Folded foldCompare(CompareOp op, const Const &a, const Const &b) {
  if (op == CompareOp::Eq)
    return {Const(a.equals(b)), ""};
  if (op == CompareOp::Ne)
    return {Const(!a.equals(b)), ""};
  if (!(a.isNumber() && b.isNumber()) && !(a.isString() && b.isString()))
    return unsupported(spelling(op), a, b);
  return folded([&]() -> language::Value {
    return applyCompare(op, toLanguage(a), toLanguage(b));
  });
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
