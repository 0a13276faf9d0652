// RUN: tessera-opt %s -tessera-coalesce=num-warps=4 | FileCheck %s
// RUN: %docblock-layouts.md coalesce.before > %t.before
// RUN: tessera-opt %s | FileCheck %t.before
// RUN: %docblock-layouts.md coalesce.after > %t.after
// RUN: tessera-opt %s -tessera-coalesce=num-warps=4 | FileCheck %t.after

// Rows of 64 bf16: 8 elements (16 bytes) in a lane, 8 lanes a row, then 4 rows
// of a warp, then warps; what is left of the 64 rows repeats in registers.
// CHECK-DAG: [[ROWS:#.*]] = #tile.linear<64x64, register = {{\[\[}}0, 1], [0, 2], [0, 4], [16, 0], [32, 0]], lane = {{\[\[}}0, 8], [0, 16], [0, 32], [1, 0], [2, 0]], warp = {{\[\[}}4, 0], [8, 0]]>
// The same tile read down its columns.
// CHECK-DAG: [[COLUMNS:#.*]] = #tile.linear<64x64, register = {{\[\[}}1, 0], [2, 0], [4, 0], [0, 16], [0, 32]], lane = {{\[\[}}8, 0], [16, 0], [32, 0], [0, 1], [0, 2]], warp = {{\[\[}}0, 4], [0, 8]]>
// A mask that may end anywhere: one element at a time.
// CHECK-DAG: [[SINGLE:#.*]] = #tile.linear<1024, register = {{\[\[}}128], [256], [512]], lane = {{\[\[}}1], [2], [4], [8], [16]], warp = {{\[\[}}32], [64]]>
// Lanes on neighbours, though some accesses could take four; what a warp has is
// what it would have then.
// CHECK-DAG: [[LANES:#.*]] = #tile.linear<2048, register = {{\[\[}}32], [64], [512], [1024]], lane = {{\[\[}}1], [2], [4], [8], [16]], warp = {{\[\[}}128], [256]]>
// CHECK-DAG: [[FOUR:#.*]] = #tile.linear<4096, register = {{\[\[}}1], [2], [128], [1024], [2048]], lane = {{\[\[}}4], [8], [16], [32], [64]], warp = {{\[\[}}256], [512]]>
// 64 elements for 128 threads: warps 2 and 3 hold replicas.
// CHECK-DAG: [[SMALL:#.*]] = #tile.linear<64, register = [], lane = {{\[\[}}1], [2], [4], [8], [16]], warp = {{\[\[}}32], [0]]>
// Rows of 256 that start anywhere: single elements, 32 neighbours a warp. The
// other columns of a row are registers, whose addresses differ by constants; a
// lane has neighbouring rows (vectors on the way to shared memory), a warp 16.
// CHECK-DAG: [[ANYWHERE:#.*]] = #tile.linear<64x256, register = {{\[\[}}1, 0], [2, 0], [4, 0], [8, 0], [0, 32], [0, 64], [0, 128]], lane = {{\[\[}}0, 1], [0, 2], [0, 4], [0, 8], [0, 16]], warp = {{\[\[}}16, 0], [32, 0]]>
// Rows of 128 bf16 are two lines of 128 bytes: 8 lanes take one line, and the
// second is a register, so that a lane has 8 addresses and not 16.
// CHECK-DAG: [[LINES:#.*]] = #tile.linear<64x128, register = {{\[\[}}0, 1], [0, 2], [0, 4], [0, 64], [16, 0], [32, 0]], lane = {{\[\[}}0, 8], [0, 16], [0, 32], [1, 0], [2, 0]], warp = {{\[\[}}4, 0], [8, 0]]>
// Where rows are summed up, all lanes that a row gives work take its columns.
// CHECK-DAG: [[COMPLETE:#.*]] = #tile.linear<64x128, register = {{\[\[}}0, 1], [0, 2], [0, 4], [8, 0], [16, 0], [32, 0]], lane = {{\[\[}}0, 8], [0, 16], [0, 32], [0, 64], [1, 0]], warp = {{\[\[}}2, 0], [4, 0]]>

// CHECK-LABEL: @tiles
// CHECK: tile.load {{.*}} {tile.layout = [[ROWS]]}
// CHECK: tile.load {{.*}} {tile.layout = [[COLUMNS]]}
func.func @tiles(%p: !tile.ptr<bf16> {tile.divisibility = 16 : i32}, %n: i32 {tile.divisibility = 16 : i32}) {
  %r = tile.range 0, 64 : tensor<64xi32>
  %s = tile.splat %n : i32 -> tensor<64xi32>
  %rs = arith.muli %r, %s : tensor<64xi32>
  %a = tile.expand_dims %rs, 1 : tensor<64xi32> -> tensor<64x1xi32>
  %b = tile.expand_dims %r, 0 : tensor<64xi32> -> tensor<1x64xi32>
  %ab = tile.broadcast %a : tensor<64x1xi32> -> tensor<64x64xi32>
  %bb = tile.broadcast %b : tensor<1x64xi32> -> tensor<64x64xi32>
  %o = arith.addi %ab, %bb : tensor<64x64xi32>
  %ps = tile.splat %p : !tile.ptr<bf16> -> tensor<64x64x!tile.ptr<bf16>>
  %q = tile.addptr %ps, %o : tensor<64x64x!tile.ptr<bf16>>, tensor<64x64xi32>
  %x = tile.load %q : tensor<64x64x!tile.ptr<bf16>>
  %t = tile.trans %o [1, 0] : tensor<64x64xi32> -> tensor<64x64xi32>
  %qt = tile.addptr %ps, %t : tensor<64x64x!tile.ptr<bf16>>, tensor<64x64xi32>
  %y = tile.load %qt : tensor<64x64x!tile.ptr<bf16>>
  return
}

// CHECK-LABEL: @long_rows
// CHECK: tile.load {{.*}} {tile.layout = [[LINES]]}
// CHECK: tile.load {{.*}} {tile.layout = [[COMPLETE]]}
func.func @long_rows(%p: !tile.ptr<bf16> {tile.divisibility = 16 : i32}, %n: i32 {tile.divisibility = 16 : i32}) -> tensor<128xbf16> {
  %r = tile.range 0, 64 : tensor<64xi32>
  %c = tile.range 0, 128 : tensor<128xi32>
  %s = tile.splat %n : i32 -> tensor<64xi32>
  %rs = arith.muli %r, %s : tensor<64xi32>
  %a = tile.expand_dims %rs, 1 : tensor<64xi32> -> tensor<64x1xi32>
  %b = tile.expand_dims %c, 0 : tensor<128xi32> -> tensor<1x128xi32>
  %ab = tile.broadcast %a : tensor<64x1xi32> -> tensor<64x128xi32>
  %bb = tile.broadcast %b : tensor<1x128xi32> -> tensor<64x128xi32>
  %o = arith.addi %ab, %bb : tensor<64x128xi32>
  %ps = tile.splat %p : !tile.ptr<bf16> -> tensor<64x128x!tile.ptr<bf16>>
  %q = tile.addptr %ps, %o : tensor<64x128x!tile.ptr<bf16>>, tensor<64x128xi32>
  %x = tile.load %q : tensor<64x128x!tile.ptr<bf16>>
  %y = tile.load %q : tensor<64x128x!tile.ptr<bf16>>
  %sum = tile.reduce sum %y, 0 : tensor<64x128xbf16> -> tensor<128xbf16>
  return %sum : tensor<128xbf16>
}

// CHECK-LABEL: @masked
// CHECK: tile.load {{.*}} {tile.layout = [[SINGLE]]}
// CHECK: tile.store {{.*}} {tile.layout = [[SMALL]]}
func.func @masked(%p: !tile.ptr<f32> {tile.divisibility = 16 : i32}, %n: i32) {
  %r = tile.range 0, 1024 : tensor<1024xi32>
  %s = tile.splat %n : i32 -> tensor<1024xi32>
  %m = arith.cmpi slt, %r, %s : tensor<1024xi32>
  %ps = tile.splat %p : !tile.ptr<f32> -> tensor<1024x!tile.ptr<f32>>
  %q = tile.addptr %ps, %r : tensor<1024x!tile.ptr<f32>>, tensor<1024xi32>
  %x = tile.load %q mask %m : tensor<1024x!tile.ptr<f32>>
  %r2 = tile.range 0, 64 : tensor<64xi32>
  %ps2 = tile.splat %p : !tile.ptr<f32> -> tensor<64x!tile.ptr<f32>>
  %q2 = tile.addptr %ps2, %r2 : tensor<64x!tile.ptr<f32>>, tensor<64xi32>
  %z = arith.constant dense<1.0> : tensor<64xf32>
  tile.store %q2, %z : tensor<64x!tile.ptr<f32>>, tensor<64xf32>
  return
}

// bf16 and fp32 that meet have one layout. 4 elements a lane: with 8, each
// store of 16 bytes a lane would touch half of its sectors.
// CHECK-LABEL: @meet
// CHECK: tile.load {{.*}} {tile.layout = [[FOUR]]} : tensor<4096x!tile.ptr<bf16>>
// CHECK: tile.store {{.*}} {tile.layout = [[FOUR]]} : tensor<4096x!tile.ptr<f32>>
func.func @meet(%p: !tile.ptr<bf16> {tile.divisibility = 16 : i32}, %o: !tile.ptr<f32> {tile.divisibility = 16 : i32}) {
  %r = tile.range 0, 4096 : tensor<4096xi32>
  %ps = tile.splat %p : !tile.ptr<bf16> -> tensor<4096x!tile.ptr<bf16>>
  %q = tile.addptr %ps, %r : tensor<4096x!tile.ptr<bf16>>, tensor<4096xi32>
  %x = tile.load %q : tensor<4096x!tile.ptr<bf16>>
  %f = tile.convert %x rtne : tensor<4096xbf16> -> tensor<4096xf32>
  %os = tile.splat %o : !tile.ptr<f32> -> tensor<4096x!tile.ptr<f32>>
  %oq = tile.addptr %os, %r : tensor<4096x!tile.ptr<f32>>, tensor<4096xi32>
  tile.store %oq, %f : tensor<4096x!tile.ptr<f32>>, tensor<4096xf32>
  return
}

// CHECK-LABEL: @anywhere
// CHECK: tile.load {{.*}} {tile.layout = [[ANYWHERE]]}
func.func @anywhere(%p: !tile.ptr<bf16> {tile.divisibility = 16 : i32}, %n: i32) {
  %r = tile.range 0, 64 : tensor<64xi32>
  %s = tile.splat %n : i32 -> tensor<64xi32>
  %rs = arith.muli %r, %s : tensor<64xi32>
  %c = tile.range 0, 256 : tensor<256xi32>
  %a = tile.expand_dims %rs, 1 : tensor<64xi32> -> tensor<64x1xi32>
  %b = tile.expand_dims %c, 0 : tensor<256xi32> -> tensor<1x256xi32>
  %ab = tile.broadcast %a : tensor<64x1xi32> -> tensor<64x256xi32>
  %bb = tile.broadcast %b : tensor<1x256xi32> -> tensor<64x256xi32>
  %o = arith.addi %ab, %bb : tensor<64x256xi32>
  %ps = tile.splat %p : !tile.ptr<bf16> -> tensor<64x256x!tile.ptr<bf16>>
  %q = tile.addptr %ps, %o : tensor<64x256x!tile.ptr<bf16>>, tensor<64x256xi32>
  %x = tile.load %q : tensor<64x256x!tile.ptr<bf16>>
  return
}

// Every other element next to neighbours: the lanes of one load are 8 bytes
// apart instead of 32.
// CHECK-LABEL: @pairs
// CHECK: tile.load {{.*}} {tile.layout = [[LANES]]}
// CHECK: tile.load {{.*}} {tile.layout = [[LANES]]}
// CHECK: tile.store {{.*}} {tile.layout = [[LANES]]}
func.func @pairs(%p: !tile.ptr<f32> {tile.divisibility = 16 : i32}, %o: !tile.ptr<f32> {tile.divisibility = 16 : i32}) {
  %r = tile.range 0, 2048 : tensor<2048xi32>
  %two = arith.constant dense<2> : tensor<2048xi32>
  %r2 = arith.muli %r, %two : tensor<2048xi32>
  %ps = tile.splat %p : !tile.ptr<f32> -> tensor<2048x!tile.ptr<f32>>
  %q = tile.addptr %ps, %r2 : tensor<2048x!tile.ptr<f32>>, tensor<2048xi32>
  %x = tile.load %q : tensor<2048x!tile.ptr<f32>>
  %os = tile.splat %o : !tile.ptr<f32> -> tensor<2048x!tile.ptr<f32>>
  %oq = tile.addptr %os, %r : tensor<2048x!tile.ptr<f32>>, tensor<2048xi32>
  %y = tile.load %oq : tensor<2048x!tile.ptr<f32>>
  %z = arith.addf %x, %y : tensor<2048xf32>
  tile.store %oq, %z : tensor<2048x!tile.ptr<f32>>, tensor<2048xf32>
  return
}
