// tools/diff/LineDiff.cpp - computes a line-by-line difference of two texts.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "tools/diff/LineDiff.h"

#include "support/Text.h"

#include <algorithm>
#include <map>

namespace tessera::tools {
namespace {

constexpr int maxEdits = 4000;

bool isWord(char c) {
  return isDigit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
         c == '_' || c == '.';
}

class Differ {
public:
  Differ(std::string_view a, std::string_view b, Registers registers)
      : a(splitLines(a)), b(splitLines(b)) {
    std::map<std::string, int> numbers;
    auto number = [&](const std::vector<std::string_view> &lines) {
      std::vector<int> result;
      for (std::string_view line : lines)
        result.push_back(
            numbers
                .emplace(withoutNumbers(line, registers), int(numbers.size()))
                .first->second);
      return result;
    };
    x = number(this->a);
    y = number(this->b);
  }

  LineDiff run() {
    size_t front = 0, back = 0;
    while (front < x.size() && front < y.size() && x[front] == y[front])
      ++front;
    while (back < x.size() - front && back < y.size() - front &&
           x[x.size() - 1 - back] == y[y.size() - 1 - back])
      ++back;
    for (size_t i = 0; i < front; ++i)
      add(LineEdit::Kind::Same, b[i]);
    middle(front, x.size() - back, y.size() - back);
    for (size_t i = y.size() - back; i < y.size(); ++i)
      add(LineEdit::Kind::Same, b[i]);
    return std::move(result);
  }

private:
  void add(LineEdit::Kind kind, std::string_view line) {
    result.lines.push_back({kind, std::string(line)});
    result.removed += kind == LineEdit::Kind::Removed;
    result.added += kind == LineEdit::Kind::Added;
  }

  // Compares lines start .. endA-1 of a with lines start .. endB-1 of b.
  void middle(size_t start, size_t endA, size_t endB) {
    const int n = int(endA - start), m = int(endB - start);
    // trace[d][k + d]: the farthest x reached on diagonal k with d edits.
    std::vector<std::vector<int>> trace;
    int edits = -1;
    for (int d = 0; d <= std::min(n + m, maxEdits) && edits < 0; ++d) {
      std::vector<int> reach(size_t(2 * d + 1));
      for (int k = -d; k <= d; k += 2) {
        const auto before = [&](int diagonal) {
          return trace[size_t(d - 1)][size_t(diagonal + d - 1)];
        };
        int i = 0;
        if (d > 0)
          i = k == -d || (k != d && before(k - 1) < before(k + 1))
                  ? before(k + 1)
                  : before(k - 1) + 1;
        int j = i - k;
        while (i < n && j < m && x[start + size_t(i)] == y[start + size_t(j)])
          ++i, ++j;
        reach[size_t(k + d)] = i;
        if (i >= n && j >= m)
          edits = d;
      }
      trace.push_back(std::move(reach));
    }
    if (edits < 0) {
      for (size_t i = start; i < endA; ++i)
        add(LineEdit::Kind::Removed, a[i]);
      for (size_t j = start; j < endB; ++j)
        add(LineEdit::Kind::Added, b[j]);
      return;
    }
    replay(trace, edits, start, n, m);
  }

  // Follows the trace from its end and appends the steps in order.
  void replay(const std::vector<std::vector<int>> &trace, int edits,
              size_t start, int n, int m) {
    std::vector<std::pair<LineEdit::Kind, size_t>> steps;
    int i = n, j = m;
    for (int d = edits; d > 0; --d) {
      const auto before = [&](int diagonal) {
        return trace[size_t(d - 1)][size_t(diagonal + d - 1)];
      };
      const int k = i - j;
      const bool down = k == -d || (k != d && before(k - 1) < before(k + 1));
      const int fromI = before(down ? k + 1 : k - 1);
      const int fromJ = fromI - (down ? k + 1 : k - 1);
      while (i > fromI + (down ? 0 : 1) && j > fromJ + (down ? 1 : 0)) {
        steps.emplace_back(LineEdit::Kind::Same, start + size_t(--j));
        --i;
      }
      if (down)
        steps.emplace_back(LineEdit::Kind::Added, start + size_t(--j));
      else
        steps.emplace_back(LineEdit::Kind::Removed, start + size_t(--i));
    }
    while (j > 0)
      steps.emplace_back(LineEdit::Kind::Same, start + size_t(--j));
    for (auto step = steps.rbegin(); step != steps.rend(); ++step)
      add(step->first, step->first == LineEdit::Kind::Removed
                           ? a[step->second]
                           : b[step->second]);
  }

  std::vector<std::string_view> a, b;
  std::vector<int> x, y;
  LineDiff result;
};

} // namespace

std::string withoutNumbers(std::string_view line, Registers registers) {
  std::string result;
  for (size_t i = 0; i < line.size();) {
    const char c = line[i];
    const bool label =
        line.substr(i).starts_with(".L") || line.substr(i).starts_with("$L");
    if (c != '%' && c != '!' && c != '#' && !label) {
      result += c;
      ++i;
      continue;
    }
    // Removes the number from a compiler-generated name and keeps the letters.
    // x86 registers (%rax, %zmm3) keep their numbers if `registers` is Named.
    size_t end = i + 1;
    while (end < line.size() && isWord(line[end]))
      ++end;
    const std::string_view name = line.substr(i, end - i);
    const bool isRegister = registers == Registers::Named && c == '%' &&
                            name.size() > 1 && !isDigit(name[1]) &&
                            (name.starts_with("%r") || name.starts_with("%e") ||
                             name.starts_with("%x") || name.starts_with("%y") ||
                             name.starts_with("%z"));
    for (char letter : name)
      if (isRegister || !isDigit(letter))
        result += letter;
    i = end;
  }
  return result;
}

LineDiff diffLines(std::string_view a, std::string_view b,
                   Registers registers) {
  return Differ(a, b, registers).run();
}

std::string renderDiff(const LineDiff &diff, size_t context, size_t limit) {
  std::vector<char> shown(diff.lines.size());
  for (size_t i = 0; i < diff.lines.size(); ++i)
    if (diff.lines[i].kind != LineEdit::Kind::Same)
      for (size_t j = i < context ? 0 : i - context;
           j < std::min(i + context + 1, diff.lines.size()); ++j)
        shown[j] = 1;
  std::string text;
  size_t printed = 0, left = 0;
  bool gap = false;
  for (size_t i = 0; i < diff.lines.size(); ++i) {
    if (!shown[i]) {
      gap = true;
      continue;
    }
    if (limit && printed >= limit) {
      left += diff.lines[i].kind != LineEdit::Kind::Same;
      continue;
    }
    if (gap && printed)
      text += "  ...\n";
    gap = false;
    const auto kind = diff.lines[i].kind;
    text += kind == LineEdit::Kind::Same      ? "  "
            : kind == LineEdit::Kind::Removed ? "- "
                                              : "+ ";
    text += diff.lines[i].line + "\n";
    ++printed;
  }
  if (left)
    text += "  ... " + std::to_string(left) +
            " more changed lines; --full shows them\n";
  return text;
}

} // namespace tessera::tools
