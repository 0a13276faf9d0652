// replay/Compare.cpp - compares tensors: exactly, by relative RMS, unordered.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "replay/Compare.h"

#include "language/Lexer.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>

namespace tessera::cases {

// Factors of compareRms(); its declaration explains them.
static constexpr double farOff = 10, outlier = 50;

static void note(Comparison &result, int64_t position) {
  if (result.first < 0)
    result.first = position;
  ++result.differing;
  result.ok = false;
}

Comparison compareExact(const Elements &got, const Elements &want) {
  Comparison result;
  double squares = 0, reference = 0;
  for (int64_t i = 0; i < want.count(); ++i) {
    if (elementsEqual(want.type, got.at(i), want.at(i))) {
      const double value = want.value(i);
      if (std::isfinite(value))
        reference += value * value;
      continue;
    }
    note(result, i);
    const double difference = got.value(i) - want.value(i);
    if (!std::isfinite(difference))
      continue;
    result.maxAbs = std::max(result.maxAbs, std::fabs(difference));
    squares += difference * difference;
    reference += want.value(i) * want.value(i);
  }
  result.rms = reference > 0
                   ? std::sqrt(squares / reference)
                   : std::sqrt(squares / std::max<int64_t>(1, want.count()));
  if (!result.ok)
    result.problem = std::to_string(result.differing) + " of " +
                     std::to_string(want.count()) + " elements differ";
  return result;
}

namespace {
// Sums over finite pairs, scaled to avoid overflow of squares.
struct Sums {
  int64_t count = 0;
  double scale = 1, differences = 0, references = 0;

  double referenceRms() const {
    return count ? scale * std::sqrt(references / double(count)) : 0;
  }
  // Returns the RMS without the element whose difference is d.
  double otherRms(double d) const {
    if (count < 2)
      return 0;
    d /= scale;
    return scale *
           std::sqrt(std::max(0.0, differences - d * d) / double(count - 1));
  }
};
} // namespace

Comparison compareRms(const Elements &got, const Elements &want, double limit) {
  Comparison result;
  result.limit = limit;
  Sums sums;
  double largest = 0;
  for (int64_t i = 0; i < want.count(); ++i) {
    const double w = want.value(i), g = got.value(i);
    if (std::isfinite(w) && std::isfinite(g))
      largest = std::max({largest, std::fabs(w), std::fabs(g)});
    else if (!(g == w || (std::isnan(g) && std::isnan(w))))
      note(result, i);
  }
  if (!result.ok)
    result.problem = std::to_string(result.differing) +
                     " elements are infinite or no number on one side only";
  if (largest > 0)
    sums.scale = largest;
  for (int64_t i = 0; i < want.count(); ++i) {
    const double w = want.value(i), g = got.value(i);
    if (!std::isfinite(w) || !std::isfinite(g))
      continue;
    const double d = (g - w) / sums.scale;
    ++sums.count;
    sums.differences += d * d;
    sums.references += w / sums.scale * (w / sums.scale);
    result.maxAbs = std::max(result.maxAbs, std::fabs(g - w));
  }
  if (sums.references > 0)
    result.rms = std::sqrt(sums.differences / sums.references);
  else if (sums.count)
    result.rms = sums.scale * std::sqrt(sums.differences / double(sums.count));
  if (!result.ok)
    return result;

  const double size = sums.referenceRms();
  int64_t firstOver = -1, worst = -1;
  double most = 0;
  for (int64_t i = 0; i < want.count(); ++i) {
    const double w = want.value(i), g = got.value(i);
    if (!std::isfinite(w) || !std::isfinite(g))
      continue;
    const double d = std::fabs(g - w), allowed = limit * (size + std::fabs(w));
    if (d > most) {
      most = d;
      worst = i;
    }
    if (d <= allowed)
      continue;
    if (firstOver < 0)
      firstOver = i;
    // If all values are 0, `allowed` is 0 and the sum below decides.
    if (size > 0 && (d > farOff * allowed ||
                     (sums.count > 1 && d > outlier * sums.otherRms(d))))
      note(result, i);
  }
  if (!result.ok)
    result.problem = std::to_string(result.differing) + " of " +
                     std::to_string(want.count()) + " elements are far off";
  if (!(result.rms <= limit)) {
    if (result.ok)
      result.problem = "the differences are too large";
    result.ok = false;
    if (result.first < 0)
      result.first = firstOver >= 0 ? firstOver : worst;
  }
  return result;
}

// Returns packed elements in ascending order, NaN last.
static std::string sorted(const Elements &elements) {
  const size_t size = elementBytes(elements.type);
  std::vector<int64_t> order(size_t(elements.count()));
  std::iota(order.begin(), order.end(), int64_t(0));
  std::sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
    const double x = elements.value(a), y = elements.value(b);
    if (std::isnan(x) || std::isnan(y))
      return !std::isnan(x) && std::isnan(y);
    if (x != y)
      return x < y;
    // Orders zeros of both signs, and 64-bit integers that are equal as
    // doubles.
    return std::memcmp(elements.at(a), elements.at(b), size) < 0;
  });
  std::string bytes;
  for (int64_t i : order)
    bytes.append(elements.at(i), size);
  return bytes;
}

Comparison compareUnordered(const Elements &got, const Elements &want,
                            double limit) {
  const std::string a = sorted(got), b = sorted(want);
  const Elements sortedGot{got.type, a}, sortedWant{want.type, b};
  Comparison result = isFloat(want.type)
                          ? compareRms(sortedGot, sortedWant, limit)
                          : compareExact(sortedGot, sortedWant);
  if (!result.ok)
    result.problem += " once sorted";
  // A position in sorted order does not identify an element of the tensor.
  if (result.first >= 0)
    result.problem += " (" + elementText(got.type, sortedGot.at(result.first)) +
                      " instead of " +
                      elementText(want.type, sortedWant.at(result.first)) + ")";
  result.first = -1;
  return result;
}

static size_t occurrences(const std::string &text, const std::string &word) {
  size_t count = 0;
  for (size_t at = text.find(word); at != std::string::npos;
       at = text.find(word, at + 1))
    ++count;
  return count;
}

// Returns the text's tokens separated by spaces, without comments and long
// strings.
static std::string codeOf(const std::string &text) {
  // Tokens are views into the file.
  const auto file = std::make_shared<const SourceFile>("kernel", text);
  const language::TokenList list = language::lex(file);
  std::string code;
  for (const language::Token &token : list.tokens)
    if (!token.text.starts_with("\"\"\"") && !token.text.starts_with("'''"))
      code += std::string(token.text) + " ";
  return code;
}

bool namesInputPrecision(const std::string &text) {
  const std::string code = codeOf(text);
  return occurrences(code, "input_precision") ||
         occurrences(code, "allow_tf32");
}

// True if the kernel requests tf32 dots, directly or by a constexpr.
static bool wantsTf32(const Case &recorded, const std::string &text) {
  if (!namesInputPrecision(text))
    return false;
  for (const auto &[name, value] : recorded.constexprs)
    if (const auto *word = std::get_if<std::string>(&value);
        word && *word == "tf32")
      return true;
  const std::string code = codeOf(text);
  return occurrences(code, "\"tf32\"") || occurrences(code, "'tf32'") ||
         occurrences(code, "allow_tf32 = True");
}

double rmsLimit(const Case &recorded, const CaseArgument &argument,
                const std::string &text, bool tf32Default) {
  constexpr double fp64 = 1e-12, fp32 = 1e-5, tf32 = 2e-3, fp16 = 5e-3,
                   bf16 = 1.6e-2, fp8e4nv = 3e-2, fp8e5 = 6e-2;
  auto takesPart = [&](DType type, std::initializer_list<const char *> words) {
    for (const CaseArgument &other : recorded.arguments)
      if (other.type == type)
        return true;
    for (const auto &[name, value] : recorded.constexprs)
      if (const auto *word = std::get_if<std::string>(&value);
          word && dtypeFromText(*word) == type)
        return true;
    return std::any_of(words.begin(), words.end(), [&](const char *word) {
      return occurrences(text, word) != 0;
    });
  };
  // A quarter of the spacing of adjacent values, which covers all rounding
  // modes.
  if (argument.type == DType::FP8E5)
    return fp8e5;
  if (argument.type == DType::FP8E4NV)
    return fp8e4nv;
  if (argument.type == DType::BF16 || takesPart(DType::BF16, {"bfloat16"}))
    return bf16;
  if (argument.type == DType::FP16 || takesPart(DType::FP16, {"tl.float16"}))
    return fp16;
  const size_t dots = occurrences(text, "dot(");
  if (wantsTf32(recorded, text) ||
      (tf32Default && dots && !namesInputPrecision(text)))
    return tf32 * double(std::max<size_t>(1, dots));
  if (argument.type == DType::FP32 || takesPart(DType::FP32, {"float32"}))
    return fp32;
  return fp64;
}

} // namespace tessera::cases
