// tools/bench/Plot.h - figures as a picture.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace tessera::bench {

// A name with values over sizes; size 0: a value that no size belongs to.
struct Point {
  std::string name;
  double size = 0, value = 0; // value > 0
};

// SVG. Points with sizes are lines, one for each name, both axes logarithmic;
// others are bars from zero. `unit` stands at the values, `sizes` below the
// axis of sizes. Points that are not finite or not positive are left out.
std::string plot(const std::string &title, std::vector<Point> points,
                 const std::string &unit, const std::string &sizes);

} // namespace tessera::bench
