// Arguments whose memory must be apart, since accesses to them do not keep their order.
// RUN: tessera-opt --split-input-file --tessera-pipeline-loops=num-stages=3 %s | FileCheck %s
// RUN: tessera-opt --split-input-file --tessera-pipeline-loops=num-stages=1 %s | FileCheck %s --check-prefix=ONE
// RUN: tessera-opt --split-input-file --tessera-promote-operands %s | FileCheck %s --check-prefix=PROMOTE

// What the loop writes, next to what it copies ahead and what that address is looked up in; %w, which is
// loaded before the loop, and %x, which is written after it, are not there.
// CHECK: module attributes {tessera.disjoint = array<i32: 0, 2, 1, 2>}
// CHECK-LABEL: func.func @loop
// ONE-NOT: tessera.disjoint
#rows = #tile.linear<16x32, register = [[0, 1], [0, 2], [0, 4]], lane = [[0, 8], [0, 16], [1, 0], [2, 0], [4, 0]], warp = [[8, 0], [0, 0]]>
#acc = #tile.linear<16x16, register = [[0, 1], [8, 0]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[0, 8], [0, 0]]>
#a = #tile.linear<16x32, register = [[0, 1], [8, 0], [0, 8], [0, 16]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[0, 0], [0, 0]]>
#b = #tile.linear<32x16, register = [[1, 0], [8, 0], [16, 0]], lane = [[2, 0], [4, 0], [0, 1], [0, 2], [0, 4]], warp = [[0, 8], [0, 0]]>
func.func @loop(%p: !tile.ptr<f16>, %index: !tile.ptr<i32>, %out: !tile.ptr<i32>, %w: !tile.ptr<i32>, %x: !tile.ptr<i32>, %b: tensor<32x16xf16, #b>, %zero: tensor<16x16xf32, #acc>, %n: i32) -> tensor<16x16xf32, #acc> {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %z = tile.load %w : !tile.ptr<i32>
  %base = tile.splat %p : !tile.ptr<f16> -> tensor<16x32x!tile.ptr<f16>, #rows>
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %zero) -> (tensor<16x16xf32, #acc>) : i32 {
    %at = tile.addptr %index, %i : !tile.ptr<i32>, i32
    %row = tile.load %at : !tile.ptr<i32>
    %s = tile.splat %row : i32 -> tensor<16x32xi32, #rows>
    %q = tile.addptr %base, %s : tensor<16x32x!tile.ptr<f16>, #rows>, tensor<16x32xi32, #rows>
    %v = tile.load %q {tile.vector = 8 : i64} : tensor<16x32x!tile.ptr<f16>, #rows>
    %a = tile.convert_layout %v : tensor<16x32xf16, #rows> -> tensor<16x32xf16, #a>
    %d = tile.dot %a, %b, %acc ieee : tensor<16x32xf16, #a>, tensor<32x16xf16, #b> -> tensor<16x16xf32, #acc>
    %to = tile.addptr %out, %i : !tile.ptr<i32>, i32
    tile.store %to, %z : !tile.ptr<i32>, i32
    scf.yield %d : tensor<16x16xf32, #acc>
  }
  tile.store %x, %z : !tile.ptr<i32>, i32
  return %r : tensor<16x16xf32, #acc>
}

// -----

// A copy continues across a store to another argument, up to the first reader.
// PROMOTE: module attributes {tessera.disjoint = array<i32: 0, 1>}
// PROMOTE-LABEL: func.func @stored_elsewhere
#rows = #tile.linear<16x16, register = [[0, 1], [0, 2]], lane = [[0, 4], [0, 8], [1, 0], [2, 0], [4, 0]], warp = [[8, 0]]>
#acc = #tile.linear<16x16, register = [[0, 1], [8, 0]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[0, 8]]>
#a = #tile.linear<16x16, register = [[0, 1], [8, 0], [0, 8]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[0, 0]]>
#b = #tile.linear<16x16, register = [[1, 0], [8, 0]], lane = [[2, 0], [4, 0], [0, 1], [0, 2], [0, 4]], warp = [[0, 8]]>
#turned = #tile.linear<16x16, register = [[1, 0], [2, 0]], lane = [[4, 0], [8, 0], [0, 1], [0, 2], [0, 4]], warp = [[0, 8]]>
func.func @stored_elsewhere(%p: tensor<16x16x!tile.ptr<f16>, #rows>, %k: tensor<16x16x!tile.ptr<f16>, #rows>, %l: tensor<16x16x!tile.ptr<f16>, #rows>, %new: tensor<16x16xf16, #rows>, %y: tensor<16x16xf16, #b>, %zero: tensor<16x16xf32, #acc>) -> tensor<16x16xf32, #acc> {
  %x = tile.load %p {tile.vector = 4 : i64} : tensor<16x16x!tile.ptr<f16>, #rows>
  tile.store %k, %new : tensor<16x16x!tile.ptr<f16>, #rows>, tensor<16x16xf16, #rows>
  %a1 = tile.convert_layout %x : tensor<16x16xf16, #rows> -> tensor<16x16xf16, #a>
  %d1 = tile.dot %a1, %y, %zero ieee : tensor<16x16xf16, #a>, tensor<16x16xf16, #b> -> tensor<16x16xf32, #acc>
  tile.store %l, %new : tensor<16x16x!tile.ptr<f16>, #rows>, tensor<16x16xf16, #rows>
  %t1 = tile.trans %x [1, 0] : tensor<16x16xf16, #rows> -> tensor<16x16xf16, #turned>
  %u1 = tile.convert_layout %t1 : tensor<16x16xf16, #turned> -> tensor<16x16xf16, #a>
  %e1 = tile.dot %u1, %y, %d1 ieee : tensor<16x16xf16, #a>, tensor<16x16xf16, #b> -> tensor<16x16xf32, #acc>
  return %e1 : tensor<16x16xf32, #acc>
}
