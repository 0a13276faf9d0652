// tools/bench/Plot.cpp - figures as a picture.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "tools/bench/Plot.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <set>

namespace tessera::bench {

namespace {

constexpr int width = 720, legend = 190, left = 80, top = 40, bottom = 50;
constexpr const char *colors[] = {"#c0392b", "#2c3e50", "#e67e22", "#7f8c8d",
                                  "#16a085", "#8e44ad", "#2980b9", "#d35400"};

std::string escaped(const std::string &text) {
  std::string result;
  for (const char c : text)
    result += c == '<'   ? "&lt;"
              : c == '>' ? "&gt;"
              : c == '&' ? "&amp;"
                         : std::string(1, c);
  return result;
}

std::string text(double x, double y, const char *anchor,
                 const std::string &words, const char *color = "#222") {
  return fmt::format(
      "<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\" fill=\"{}\">{}"
      "</text>\n",
      x, y, anchor, color, escaped(words));
}

std::string framed(const std::string &title, int height,
                   const std::string &body) {
  return fmt::format("<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{}\" "
                     "height=\"{}\" font-family=\"sans-serif\" "
                     "font-size=\"12\">\n<rect width=\"100%\" height=\"100%\" "
                     "fill=\"white\"/>\n{}{}</svg>\n",
                     width, height, text(left, 20, "start", title), body);
}

std::vector<std::string> namesOf(const std::vector<Point> &points) {
  std::vector<std::string> names;
  for (const Point &point : points)
    if (std::find(names.begin(), names.end(), point.name) == names.end())
      names.push_back(point.name);
  return names;
}

std::string lines(const std::string &title, const std::vector<Point> &points,
                  const std::string &unit, const std::string &sizes) {
  constexpr int height = 400, right = width - legend;
  double least = points[0].value, most = least;
  double first = points[0].size, last = first;
  std::set<double> marks;
  for (const Point &point : points) {
    least = std::min(least, point.value);
    most = std::max(most, point.value);
    first = std::min(first, point.size);
    last = std::max(last, point.size);
    marks.insert(point.size);
  }
  const double low = std::floor(std::log10(least)),
               high = std::max(std::ceil(std::log10(most)), low + 1);
  const auto x = [&](double size) {
    const double span = std::log2(last / first);
    return left + (span > 0 ? std::log2(size / first) / span : 0.5) *
                      (right - left - 20);
  };
  const auto y = [&](double value) {
    return height - bottom -
           (std::log10(value) - low) / (high - low) * (height - bottom - top);
  };
  std::string body;
  for (double power = low; power <= high; ++power) {
    const double value = std::pow(10, power);
    body += fmt::format("<line x1=\"{}\" x2=\"{}\" y1=\"{:.1f}\" y2=\"{:.1f}\" "
                        "stroke=\"#ddd\"/>\n",
                        left, right, y(value), y(value));
    body += text(left - 6, y(value) + 4, "end",
                 fmt::format("{:g} {}", value, unit));
  }
  for (const double size : marks)
    body += text(x(size), height - bottom + 18, "middle",
                 fmt::format("{:g}", size));
  body += text((left + right) / 2, height - 10, "middle", sizes);
  const std::vector<std::string> names = namesOf(points);
  for (size_t i = 0; i < names.size(); ++i) {
    const char *color = colors[i % std::size(colors)];
    std::vector<Point> own;
    std::copy_if(points.begin(), points.end(), std::back_inserter(own),
                 [&](const Point &point) { return point.name == names[i]; });
    std::stable_sort(
        own.begin(), own.end(),
        [](const Point &a, const Point &b) { return a.size < b.size; });
    std::string path;
    for (const Point &point : own) {
      path += fmt::format("{:.1f},{:.1f} ", x(point.size), y(point.value));
      body += fmt::format(
          "<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"3\" fill=\"{}\"/>\n",
          x(point.size), y(point.value), color);
    }
    body += fmt::format("<polyline fill=\"none\" stroke=\"{}\" "
                        "stroke-width=\"2\" points=\"{}\"/>\n",
                        color, path);
    body += text(right + 10, top + 16 + 18 * int(i), "start", names[i], color);
  }
  return framed(title, height, body);
}

std::string bars(const std::string &title, const std::vector<Point> &points,
                 const std::string &unit) {
  constexpr int row = 22, names = 260, room = width - names - 110;
  double most = 0;
  for (const Point &point : points)
    most = std::max(most, point.value);
  std::string body;
  for (size_t i = 0; i < points.size(); ++i) {
    const int y = top + row * int(i);
    const double length = points[i].value / most * room;
    body += text(names - 8, y + 12, "end", points[i].name);
    body += fmt::format("<rect x=\"{}\" y=\"{}\" width=\"{:.1f}\" "
                        "height=\"{}\" fill=\"{}\"/>\n",
                        names, y, std::max(length, 1.0), row - 6, colors[0]);
    body += text(names + length + 6, y + 12, "start",
                 fmt::format("{:.4g} {}", points[i].value, unit));
  }
  return framed(title, top + row * int(points.size()) + 10, body);
}

} // namespace

std::string plot(const std::string &title, std::vector<Point> points,
                 const std::string &unit, const std::string &sizes) {
  std::erase_if(points, [](const Point &point) {
    return !std::isfinite(point.value) || point.value <= 0 ||
           !std::isfinite(point.size);
  });
  if (points.empty())
    return framed(title + ": no figures", top + 20, "");
  const bool sized =
      std::all_of(points.begin(), points.end(),
                  [](const Point &point) { return point.size > 0; });
  return sized ? lines(title, points, unit, sizes) : bars(title, points, unit);
}

} // namespace tessera::bench
