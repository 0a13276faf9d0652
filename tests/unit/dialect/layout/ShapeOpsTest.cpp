// tests/unit/dialect/layout/ShapeOpsTest.cpp - shape operations on element
// numbers.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
//
// A tensor is the list of its elements, and the operation is applied to
// indices. Each register must hold the same element after it as before.
#include "dialect/layout/ShapeOps.h"
#include "dialect/layout/RegisterLayouts.h"
#include "tests/unit/dialect/layout/Random.h"

#include <gtest/gtest.h>

#include <set>

using namespace tessera::layout;

namespace {

using Coordinates = std::vector<int64_t>;
const Extents cube = {{Dim::Dim0, 2}, {Dim::Dim1, 4}, {Dim::Dim2, 3}};

template <class Check>
void everyPlace(const LinearLayout &layout, Check check) {
  for (int w = 0; w < layout.inSize(Dim::Warp); ++w)
    for (int l = 0; l < layout.inSize(Dim::Lane); ++l)
      for (int r = 0; r < layout.inSize(Dim::Register); ++r)
        check(Place{{Dim::Register, r}, {Dim::Lane, l}, {Dim::Warp, w}});
}

} // namespace

TEST(ShapeOps, Transpose) {
  Random random(20);
  for (int i = 0; i < 20; ++i) {
    const LinearLayout in = random.distributed(cube, 2, 0, i % 2);
    const LinearLayout out = transpose(in, {2, 0, 1});
    EXPECT_EQ(shapeOf(out), (Coordinates{8, 4, 16}));
    everyPlace(in, [&](const Place &place) {
      const auto x = in.at(place);
      ASSERT_EQ(out.at(place), (Coordinates{x[2], x[0], x[1]}));
    });
    EXPECT_EQ(transpose(out, {1, 2, 0}), in);
  }
  EXPECT_THROW(transpose(random.distributed(cube, 0, 0, true), {0, 0, 1}),
               LayoutError);
  EXPECT_THROW(transpose(random.distributed(cube, 0, 0, true), {1, 0}),
               LayoutError);
}

TEST(ShapeOps, Reshape) {
  Random random(21);
  for (int i = 0; i < 20; ++i) {
    const LinearLayout in = random.distributed(cube, 2, 1, i % 2);
    for (const Coordinates &shape :
         {Coordinates{512}, {64, 8}, {2, 2, 2, 64}, {512, 1}}) {
      const LinearLayout out = reshape(in, shape);
      EXPECT_EQ(shapeOf(out), shape);
      everyPlace(in, [&](const Place &place) {
        const auto x = in.at(place), y = out.at(place);
        int64_t number = (x[0] * 16 + x[1]) * 8 + x[2], other = 0;
        for (size_t axis = 0; axis < shape.size(); ++axis)
          other = other * shape[axis] + y[axis];
        ASSERT_EQ(number, other);
      });
      EXPECT_EQ(reshape(out, {4, 16, 8}), in);
    }
  }
  EXPECT_THROW(reshape(random.distributed(cube, 0, 0, true), {256}),
               LayoutError);
}

TEST(ShapeOps, ExpandAndBroadcast) {
  Random random(22);
  for (int axis = 0; axis <= 3; ++axis) {
    const LinearLayout in = random.distributed(cube, 2, 0, false);
    const LinearLayout wide = expandDims(in, axis);
    const LinearLayout out = broadcast(wide, axis, 4);
    EXPECT_EQ(out.inSize(Dim::Register), 4 * in.inSize(Dim::Register));
    std::set<Word> seen;
    everyPlace(out, [&](const Place &place) {
      const int64_t r = place[0].second, own = in.inSize(Dim::Register);
      auto x = in.at({{Dim::Register, r % own}, place[1], place[2]});
      x.insert(x.begin() + axis, r / own);
      ASSERT_EQ(out.at(place), x);
    });
    EXPECT_TRUE(out.isInvertible());
    // And back: the operand that makes expand_dims + broadcast free.
    EXPECT_EQ(slice(wide, axis), in);
  }
  EXPECT_THROW(broadcast(random.distributed(cube, 0, 0, true), 0, 8),
               LayoutError);
  EXPECT_THROW(expandDims(random.distributed(cube, 0, 0, true), 4),
               LayoutError);
}

TEST(ShapeOps, JoinAndSplit) {
  Random random(23);
  for (int i = 0; i < 20; ++i) {
    const LinearLayout in = random.distributed(cube, 2, 0, i % 2);
    const LinearLayout out = join(in);
    EXPECT_EQ(shapeOf(out), (Coordinates{4, 16, 8, 2}));
    const int64_t own = in.inSize(Dim::Register);
    everyPlace(out, [&](const Place &place) {
      const int64_t r = place[0].second;
      auto x = in.at({{Dim::Register, r % own}, place[1], place[2]});
      x.push_back(r / own);
      ASSERT_EQ(out.at(place), x);
    });
    const auto back = split(out);
    ASSERT_TRUE(back.has_value());
    EXPECT_EQ(back->half, in);
    EXPECT_EQ(int64_t(1) << back->registerBit, own);
  }
  // The two halves in different lanes or warps: split must move.
  const Extents tile = {{Dim::Dim0, 2}, {Dim::Dim1, 1}};
  for (const Extents &places :
       {Extents{{Dim::Register, 1}, {Dim::Lane, 2}},
        Extents{{Dim::Lane, 2}, {Dim::Register, 1}},
        Extents{{Dim::Register, 0}, {Dim::Lane, 2}, {Dim::Warp, 1}},
        Extents{{Dim::Register, 2}, {Dim::Lane, 1}},
        Extents{{Dim::Warp, 1}, {Dim::Register, 2}}})
    for (int half = 0; half < 3; ++half) {
      std::vector<Word> columns = {1, 2};
      columns.insert(columns.begin() + half, 4);
      const LinearLayout layout(places, tile, columns);
      const int at = half - layout.inStart(Dim::Register);
      EXPECT_EQ(split(layout).has_value(),
                at >= 0 && at < layout.inBits(Dim::Register))
          << layout.str();
    }
  EXPECT_THROW(split(random.distributed(cube, 0, 0, true)), LayoutError);
}

TEST(ShapeOps, SliceDropsTheAxisAndItsRegisters) {
  Random random(24);
  for (int i = 0; i < 20; ++i) {
    const LinearLayout in = random.distributed(cube, 2, 0, i % 2);
    for (int axis = 0; axis < 3; ++axis) {
      const LinearLayout out = slice(in, axis);
      // Every lane keeps exactly the elements that it had, without the axis.
      for (int w = 0; w < 4; ++w)
        for (int l = 0; l < 32; ++l) {
          std::set<Coordinates> before, after;
          for (int r = 0; r < in.inSize(Dim::Register); ++r) {
            auto x =
                in.at({{Dim::Register, r}, {Dim::Lane, l}, {Dim::Warp, w}});
            x.erase(x.begin() + axis);
            before.insert(x);
          }
          for (int r = 0; r < out.inSize(Dim::Register); ++r)
            after.insert(
                out.at({{Dim::Register, r}, {Dim::Lane, l}, {Dim::Warp, w}}));
          ASSERT_EQ(before, after);
          // Nothing twice in a lane.
          ASSERT_EQ(int64_t(after.size()), out.inSize(Dim::Register));
        }
    }
  }
}

// The row sum of an accumulator: two shuffles, over lane bits 0 and 1.
TEST(ShapeOps, RowsOfAnAccumulator) {
  const LinearLayout rows = slice(mmaAccumulator({64, 64}, {{4, 1}, 16}), 1);
  EXPECT_EQ(rows.freeBits(Dim::Lane), 0b11u);
  EXPECT_EQ(rows.freeBits(Dim::Warp), 0u);
  EXPECT_EQ(rows.inSize(Dim::Register), 2); // rows g and g + 8
}
