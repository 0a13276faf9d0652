// Copies ahead in a loop with an acquiring atomic, by a kernel with the hint constant_inputs.
// RUN: tessera-opt --tessera-pipeline-loops="num-stages=3 constant-inputs=true" %s | FileCheck %s
// RUN: tessera-opt --tessera-pipeline-loops=num-stages=3 %s | FileCheck %s --check-prefix=KEPT

// Without the hint no loop of this file is pipelined.
// KEPT-NOT: tile.async_copy

#rows = #tile.linear<16x32, register = [[0, 1], [0, 2], [0, 4]], lane = [[0, 8], [0, 16], [1, 0], [2, 0], [4, 0]], warp = [[8, 0], [0, 0]]>
#acc = #tile.linear<16x16, register = [[0, 1], [8, 0]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[0, 8], [0, 0]]>
#a = #tile.linear<16x32, register = [[0, 1], [8, 0], [0, 8], [0, 16]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[0, 0], [0, 0]]>
#b = #tile.linear<32x16, register = [[1, 0], [8, 0], [16, 0]], lane = [[2, 0], [4, 0], [0, 1], [0, 2], [0, 4]], warp = [[0, 8], [0, 0]]>
#places = #tile.linear<16x32, register = [[1, 0], [2, 0], [4, 0]], lane = [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16]], warp = [[8, 0], [0, 0]]>

// The kernel only reads %p: the tile of a later iteration is copied before the atomic.
// CHECK-LABEL: func.func @only_read
// CHECK: scf.for
// CHECK: tile.async_copy
// CHECK: tile.atomic_rmw
// CHECK: return
func.func @only_read(%p: !tile.ptr<f16>, %other: !tile.ptr<i32>, %o: tensor<16x32xi32, #rows>, %b: tensor<32x16xf16, #b>, %zero: tensor<16x16xf32, #acc>, %x: tensor<16x32xf16, #rows>, %n: i32) -> tensor<16x16xf32, #acc> {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %base = tile.splat %p : !tile.ptr<f16> -> tensor<16x32x!tile.ptr<f16>, #rows>
  %ps = tile.addptr %base, %o : tensor<16x32x!tile.ptr<f16>, #rows>, tensor<16x32xi32, #rows>
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %zero) -> (tensor<16x16xf32, #acc>) : i32 {
    %s = tile.splat %i : i32 -> tensor<16x32xi32, #rows>
    %q = tile.addptr %ps, %s : tensor<16x32x!tile.ptr<f16>, #rows>, tensor<16x32xi32, #rows>
    %v = tile.load %q {tile.vector = 8 : i64} : tensor<16x32x!tile.ptr<f16>, #rows>
    %a = tile.convert_layout %v : tensor<16x32xf16, #rows> -> tensor<16x32xf16, #a>
    %d = tile.dot %a, %b, %acc ieee : tensor<16x32xf16, #a>, tensor<32x16xf16, #b> -> tensor<16x16xf32, #acc>
    %seen = tile.atomic_rmw add %other, %c0 {sem = "acquire"} : !tile.ptr<i32>, i32
    tile.store %other, %seen : !tile.ptr<i32>, i32
    scf.yield %d : tensor<16x16xf32, #acc>
  }
  return %r : tensor<16x16xf32, #acc>
}

// Programs of this kernel write to %p after their loop, so that the atomic may tell of it.
// CHECK-LABEL: func.func @written_behind
// CHECK-NOT: tile.async_copy
// CHECK: return
func.func @written_behind(%p: !tile.ptr<f16>, %other: !tile.ptr<i32>, %o: tensor<16x32xi32, #rows>, %b: tensor<32x16xf16, #b>, %zero: tensor<16x16xf32, #acc>, %x: tensor<16x32xf16, #rows>, %n: i32) -> tensor<16x16xf32, #acc> {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %base = tile.splat %p : !tile.ptr<f16> -> tensor<16x32x!tile.ptr<f16>, #rows>
  %ps = tile.addptr %base, %o : tensor<16x32x!tile.ptr<f16>, #rows>, tensor<16x32xi32, #rows>
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %zero) -> (tensor<16x16xf32, #acc>) : i32 {
    %s = tile.splat %i : i32 -> tensor<16x32xi32, #rows>
    %q = tile.addptr %ps, %s : tensor<16x32x!tile.ptr<f16>, #rows>, tensor<16x32xi32, #rows>
    %v = tile.load %q {tile.vector = 8 : i64} : tensor<16x32x!tile.ptr<f16>, #rows>
    %a = tile.convert_layout %v : tensor<16x32xf16, #rows> -> tensor<16x32xf16, #a>
    %d = tile.dot %a, %b, %acc ieee : tensor<16x32xf16, #a>, tensor<32x16xf16, #b> -> tensor<16x16xf32, #acc>
    %seen = tile.atomic_rmw add %other, %c0 {sem = "acquire"} : !tile.ptr<i32>, i32
    tile.store %other, %seen : !tile.ptr<i32>, i32
    scf.yield %d : tensor<16x16xf32, #acc>
  }
  tile.store %ps, %x : tensor<16x32x!tile.ptr<f16>, #rows>, tensor<16x32xf16, #rows>
  return %r : tensor<16x16xf32, #acc>
}

// The same of a write before the loop.
// CHECK-LABEL: func.func @written_before
// CHECK-NOT: tile.async_copy
// CHECK: return
func.func @written_before(%p: !tile.ptr<f16>, %other: !tile.ptr<i32>, %o: tensor<16x32xi32, #rows>, %b: tensor<32x16xf16, #b>, %zero: tensor<16x16xf32, #acc>, %x: tensor<16x32xf16, #rows>, %n: i32) -> tensor<16x16xf32, #acc> {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %base = tile.splat %p : !tile.ptr<f16> -> tensor<16x32x!tile.ptr<f16>, #rows>
  %ps = tile.addptr %base, %o : tensor<16x32x!tile.ptr<f16>, #rows>, tensor<16x32xi32, #rows>
  tile.store %ps, %x : tensor<16x32x!tile.ptr<f16>, #rows>, tensor<16x32xf16, #rows>
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %zero) -> (tensor<16x16xf32, #acc>) : i32 {
    %s = tile.splat %i : i32 -> tensor<16x32xi32, #rows>
    %q = tile.addptr %ps, %s : tensor<16x32x!tile.ptr<f16>, #rows>, tensor<16x32xi32, #rows>
    %v = tile.load %q {tile.vector = 8 : i64} : tensor<16x32x!tile.ptr<f16>, #rows>
    %a = tile.convert_layout %v : tensor<16x32xf16, #rows> -> tensor<16x32xf16, #a>
    %d = tile.dot %a, %b, %acc ieee : tensor<16x32xf16, #a>, tensor<32x16xf16, #b> -> tensor<16x16xf32, #acc>
    %seen = tile.atomic_rmw add %other, %c0 {sem = "acquire"} : !tile.ptr<i32>, i32
    tile.store %other, %seen : !tile.ptr<i32>, i32
    scf.yield %d : tensor<16x16xf32, #acc>
  }
  return %r : tensor<16x16xf32, #acc>
}
