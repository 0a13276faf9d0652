// tools/diff/Resources.cpp - compares two reports of GPU kernels.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "tools/diff/Resources.h"

#include "ptx/ResourceReport.h"
#include "tools/diff/PairLoops.h"

#include <algorithm>
#include <cstdio>
#include <set>
#include <vector>

namespace tessera::tools {

std::string compareRow(const std::string &name, const Json &a, const Json &b) {
  char text[160];
  std::snprintf(text, sizeof(text), "  %-28s %12s %12s", name.c_str(),
                ptx::numberText(a, "-").c_str(),
                ptx::numberText(b, "-").c_str());
  std::string result = text;
  if (a == b)
    return result + "         =\n";
  if (a.is_number() && b.is_number()) {
    const double from = a.get<double>(), to = b.get<double>();
    if (from > 0)
      std::snprintf(text, sizeof(text), "  %+7.1f%%", 100 * (to - from) / from);
    else
      std::snprintf(text, sizeof(text), "  %+8.0f", to - from);
    result += text;
  }
  return result + "\n";
}

namespace {

// Returns the instruction classes whose counts differ, most frequent first.
std::string counts(const Json &a, const Json &b, const std::string &indent) {
  std::set<std::string> names;
  for (const Json *side : {&a, &b})
    if (side->is_object())
      for (const auto &[name, count] : side->items())
        names.insert(name);
  std::vector<std::string> order(names.begin(), names.end());
  const auto of = [](const Json &side, const std::string &name) {
    return side.is_object() ? side.value(name, int64_t(0)) : int64_t(0);
  };
  std::stable_sort(order.begin(), order.end(),
                   [&](const auto &x, const auto &y) {
                     return of(a, x) + of(b, x) > of(a, y) + of(b, y);
                   });
  std::string text;
  for (const std::string &name : order)
    if (name != "total" && of(a, name) != of(b, name))
      text += compareRow(indent + name, of(a, name), of(b, name));
  return text;
}

std::vector<Json> loopsOf(const Json &listing, bool innermost) {
  std::vector<Json> result;
  for (const Json &loop : listing.value("loops", Json::array()))
    if (loop.value("innermost", false) == innermost)
      result.push_back(loop);
  return result;
}

std::string linesOfLoop(const Json &loop) {
  const Json lines = loop.is_object() ? loop.value("lines", Json()) : Json();
  return lines.is_array() && lines.size() == 2
             ? lines[0].dump() + "-" + lines[1].dump()
             : "?";
}

// Compares two loops. One may be null if the other side has no such loop.
std::string compareLoops(const std::string &kind, const Json &a,
                         const Json &b) {
  const Json none = Json::object();
  const std::string left = linesOfLoop(a), right = linesOfLoop(b);
  const std::string lines = a.empty()                    ? right
                            : b.empty() || left == right ? left
                                                         : left + " / " + right;
  const Json x = a.value("instructions", none),
             y = b.value("instructions", none);
  std::string text =
      compareRow(kind + ", lines " + lines, x.value("total", Json()),
                 y.value("total", Json()));
  if (a.empty() || b.empty())
    return text;
  text += counts(x, y, "    ");
  const Json others = a.value("non_tensor_per_tensor", Json());
  if (!others.is_null() || b.value("non_tensor_per_tensor", Json()) != others)
    text += compareRow("    others per mma", others,
                       b.value("non_tensor_per_tensor", Json()));
  return text;
}

std::string compareListings(const std::string &title, const Json &a,
                            const Json &b) {
  const Json none = Json::object();
  const Json &left = a.at("instructions"), &right = b.at("instructions");
  std::string text =
      compareRow(title + " instructions", left.value("total", Json()),
                 right.value("total", Json())) +
      counts(left, right, "  ");
  for (const bool innermost : {true, false}) {
    const auto one = loopsOf(a, innermost), other = loopsOf(b, innermost);
    const auto main = mainLoop(one);
    for (const LoopPair &pair : pairLoops(one, other)) {
      const std::string kind = !innermost               ? "outer loop"
                               : main && pair.a == main ? "main loop"
                                                        : "loop";
      text += compareLoops(kind, pair.a ? one[*pair.a] : none,
                           pair.b ? other[*pair.b] : none);
    }
  }
  return text;
}

} // namespace

std::string compareReports(const Json &a, const Json &b) {
  std::string text;
  for (const auto &[key, name] : {std::pair("threads", "threads of a block"),
                                  {"registers", "registers"},
                                  {"stack", "stack, bytes"},
                                  {"spill_stores", "spill stores, bytes"},
                                  {"spill_loads", "spill loads, bytes"},
                                  {"shared", "shared memory, bytes"},
                                  {"blocks_per_sm", "blocks on an SM"},
                                  {"limited_by", "limited by"},
                                  {"async_stages", "asynchronous stages"}}) {
    const Json left = a.value(key, Json()), right = b.value(key, Json());
    if (!left.is_null() || !right.is_null())
      text += compareRow(name, left, right);
  }
  bool machine = false;
  for (const auto &[key, title] : {std::pair("sass", "SASS"), {"ptx", "PTX"}}) {
    const Json left = a.value(key, Json()), right = b.value(key, Json());
    // Prefers SASS: the device executes it, and PTX is only the input of ptxas.
    if (left.is_object() && right.is_object() && !machine) {
      text += compareListings(title, left, right);
      machine = true;
    }
  }
  return text;
}

} // namespace tessera::tools
