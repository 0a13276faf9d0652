// autotune/table/TuneTable.cpp - a table's entries by key, validated on
// insertion.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "autotune/table/TuneTable.h"

#include "autotune/table/TuneText.h"
#include "support/Error.h"
#include "support/Lists.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <compare>
#include <cstdio>
#include <cstdlib>

namespace tessera::tune {

int64_t bucketOf(int64_t sequence) {
  if (sequence < 0 || sequence > longestSequence)
    throw Error("a sequence cannot have " + std::to_string(sequence) +
                    " tokens",
                "give the length of the longest sequence, or 0 where it is "
                "not known");
  return sequence ? int64_t(std::bit_ceil(uint64_t(sequence))) : 0;
}

namespace {

int order(bool less, bool greater) { return less ? -1 : greater; }

int compare(const ConstexprValue &a, const ConstexprValue &b) {
  if (a.index() != b.index())
    return order(a.index() < b.index(), true);
  return std::visit(
      [&](const auto &held) {
        using T = std::decay_t<decltype(held)>;
        if constexpr (std::is_same_v<T, std::nullptr_t>)
          return 0;
        else
          return order(held < std::get<T>(b), std::get<T>(b) < held);
      },
      a);
}

int compare(const Constexprs &a, const Constexprs &b) {
  auto left = a.begin(), right = b.begin();
  for (; left != a.end() && right != b.end(); ++left, ++right) {
    if (int names = left->first.compare(right->first))
      return names;
    if (int values = compare(left->second, right->second))
      return values;
  }
  return order(right != b.end(), left != a.end());
}

[[noreturn]] void refuse(const std::string &what, const std::string &hint) {
  throw Error("tuned configuration: " + what, hint);
}

void checkText(const std::string &text, const char *what, bool mayBeEmpty) {
  if (text.empty() && !mayBeEmpty)
    refuse(std::string(what) + " is empty", "give one");
  if (!isPlainText(text))
    refuse(std::string(what) + " is not a line of text",
           "write UTF-8 without control characters, at most " +
               std::to_string(longestText) + " bytes");
}

void checkConstexprs(const Constexprs &constexprs) {
  for (const auto &[name, value] : constexprs) {
    if (!isParameterName(name) || name == "num_warps" || name == "num_stages")
      refuse("`" + name + "` cannot be the name of a constexpr",
             "use the kernel's own names");
    if (const double *number = std::get_if<double>(&value);
        number && !std::isfinite(*number))
      refuse("the constexpr `" + name + "` is not a finite number",
             "write its value");
    if (const auto *text = std::get_if<std::string>(&value))
      checkText(*text, ("the constexpr `" + name + "`").c_str(), true);
  }
}

void checkChoice(const TuneChoice &choice) {
  checkConstexprs(choice.constexprs);
  for (const auto &[count, name, least] :
       {std::tuple{choice.numWarps, "num_warps", 1},
        std::tuple{choice.numStages, "num_stages", 0}})
    if (count && (*count < least || *count > 64))
      refuse(std::string(name) + " is " + std::to_string(*count),
             "num_warps is 1 to 64, num_stages 0 to 64");
}

void checkTime(double time, const char *what, bool mayBeZero) {
  if (!std::isfinite(time) || time < 0 || time > 1e12 ||
      (time == 0 && !mayBeZero))
    refuse(std::string(what) + " is not a time in microseconds",
           mayBeZero ? "write a number from 0 to 1e12"
                     : "write a number above 0, at most 1e12");
}

void checkKey(const TuneKey &key) {
  checkText(key.kernel, "the kernel's name", false);
  const size_t colon = key.kernel.rfind(':');
  if (colon == std::string::npos || colon == 0 ||
      !isIdentifier(std::string_view(key.kernel).substr(colon + 1)))
    refuse("`" + key.kernel + "` names no kernel",
           "write FILE:FUNCTION, as in "
           "kernels/nsa/select_fwd.py:select_fwd");
  if (!isTextHash(key.textHash))
    refuse("`" + key.textHash + "` is not a hash of a kernel's text",
           "it has 32 hexadecimal digits");
  for (const std::string &type : key.dtypes)
    if (type != "none" &&
        (!dtypeFromText(type) || dtypeName(*dtypeFromText(type)) != type))
      refuse("`" + type + "` is not a type of elements",
             "write bf16, fp32, i32 and the like, or none");
  checkConstexprs(key.constexprs);
  if (key.bucket < 0 || key.bucket > longestSequence ||
      key.bucket != bucketOf(key.bucket))
    refuse("the sequence length " + std::to_string(key.bucket) +
               " is not a bucket",
           "write a power of two, or 0 for launches of unknown length");
}

// Rounds to five digits: more than a clock resolves, and short enough for a
// line.
double rounded(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.5g", value);
  return std::strtod(text, nullptr);
}

bool byKey(const TuneEntry &entry, const TuneKey &key) {
  return entry.key < key;
}

// True if `b` replaces `a`.
bool replaces(const TuneEntry &b, const TuneEntry &a) {
  if (a.predicted != b.predicted)
    return a.predicted;
  return b.date >= a.date;
}

std::string join(const std::string &a, const std::string &b,
                 const char *between) {
  if (a.empty() || b.empty() || a == b)
    return a.empty() ? b : a;
  return a + between + b;
}

} // namespace

bool operator<(const TuneKey &a, const TuneKey &b) {
  if (int kernels = a.kernel.compare(b.kernel))
    return kernels < 0;
  if (a.dtypes != b.dtypes)
    return a.dtypes < b.dtypes;
  if (int geometry = compare(a.constexprs, b.constexprs))
    return geometry < 0;
  if (a.bucket != b.bucket)
    return a.bucket < b.bucket;
  return a.textHash < b.textHash;
}

std::string describe(const TuneKey &key) {
  std::string text = key.kernel + " " + joined(key.dtypes, ",");
  for (const auto &[name, value] : key.constexprs)
    text += " " + name + "=" + valueText(value);
  return text + (key.bucket ? ", sequence " + std::to_string(key.bucket) : "");
}

std::string describe(const TuneChoice &choice) {
  std::string text;
  const auto add = [&](const std::string &name, const std::string &value) {
    text += (text.empty() ? "" : " ") + name + "=" + value;
  };
  for (const auto &[name, value] : choice.constexprs)
    add(name, valueText(value));
  if (choice.numWarps)
    add("num_warps", std::to_string(*choice.numWarps));
  if (choice.numStages)
    add("num_stages", std::to_string(*choice.numStages));
  return text;
}

const TuneEntry *TuneTable::find(const TuneKey &key) const {
  const auto place = std::lower_bound(list.begin(), list.end(), key, byKey);
  return place != list.end() && place->key == key ? &*place : nullptr;
}

void TuneTable::set(TuneEntry entry) {
  checkKey(entry.key);
  checkChoice(entry.use);
  for (const auto &[name, value] : entry.use.constexprs)
    if (entry.key.constexprs.count(name))
      refuse("`" + name + "` is both given by the launch and chosen",
             "a launch keeps what it gives: remove one of the two");
  checkTime(entry.timeUs, "the time", false);
  checkTime(entry.defaultUs, "the default's time", true);
  checkTime(entry.runnerUpUs, "the runner-up's time", true);
  if (entry.runnerUp)
    checkChoice(*entry.runnerUp);
  else if (entry.runnerUpUs != 0)
    refuse("a runner-up's time without a runner-up",
           "say which configuration it is");
  if (!std::isfinite(entry.spread) || entry.spread < 0 || entry.spread > 1e6)
    refuse("the spread is not a number above 0", "write 0.01 for 1%");
  if (!isDate(entry.date))
    refuse("`" + entry.date + "` is not a date", "write it as in 2026-01-31");
  checkText(entry.why, "the reason", true);
  for (double *number :
       {&entry.timeUs, &entry.defaultUs, &entry.runnerUpUs, &entry.spread})
    *number = rounded(*number);
  const auto place =
      std::lower_bound(list.begin(), list.end(), entry.key, byKey);
  if (place != list.end() && place->key == entry.key)
    *place = std::move(entry);
  else
    list.insert(place, std::move(entry));
}

bool TuneTable::erase(const TuneKey &key) {
  const auto place = std::lower_bound(list.begin(), list.end(), key, byKey);
  if (place == list.end() || !(place->key == key))
    return false;
  list.erase(place);
  return true;
}

TuneTable merge(const TuneTable &a, const TuneTable &b) {
  if (!(a.device == b.device))
    throw Error("tables of two devices cannot become one: " +
                    describe(a.device) + " and " + describe(b.device),
                "keep a file for each device");
  TuneTable result = a;
  for (const TuneEntry &entry : b.entries())
    if (const TuneEntry *present = result.find(entry.key);
        !present || replaces(entry, *present))
      result.set(entry);
  TuneProvenance &from = result.provenance;
  from.commit = join(from.commit, b.provenance.commit, ", ");
  from.compiler = join(from.compiler, b.provenance.compiler, ", ");
  from.driver = join(from.driver, b.provenance.driver, ", ");
  from.ptxas = join(from.ptxas, b.provenance.ptxas, ", ");
  from.command = join(from.command, b.provenance.command, " && ");
  return result;
}

} // namespace tessera::tune
