// tile.convert_layout: renaming, shuffles, movmatrix, shared memory.
// RUN: tessera-lower %s --laid-out --num-warps=1 | FileCheck %s

#four = #tile.linear<128, register = [[1], [2]], lane = [[4], [8], [16], [32], [64]], warp = []>
#renamed = #tile.linear<128, register = [[2], [1]], lane = [[4], [8], [16], [32], [64]], warp = []>
#lanes = #tile.linear<128, register = [[1], [2]], lane = [[8], [4], [16], [32], [64]], warp = []>
#swapped = #tile.linear<128, register = [[4], [2]], lane = [[1], [8], [16], [32], [64]], warp = []>
#acc = #tile.linear<8x8, register = [[0, 1]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = []>
#turned = #tile.linear<8x8, register = [[1, 0]], lane = [[2, 0], [4, 0], [0, 1], [0, 2], [0, 4]], warp = []>
#accrow = #tile.linear<64, register = [[1]], lane = [[2], [4], [8], [16], [32]], warp = []>
#rows = #tile.linear<64x16, register = [[0, 1], [0, 2], [0, 4], [0, 8], [32, 0]], lane = [[1, 0], [2, 0], [4, 0], [8, 0], [16, 0]], warp = []>
#columns = #tile.linear<64x16, register = [[1, 0], [2, 0], [4, 0], [8, 0], [16, 0]], lane = [[0, 1], [0, 2], [0, 4], [0, 8], [32, 0]], warp = []>
#flatrows = #tile.linear<1024, register = [[1], [2], [4], [8], [512]], lane = [[16], [32], [64], [128], [256]], warp = []>

// Registers in another order.
// CHECK-LABEL: .entry registers(
// CHECK-NOT: {{shfl|bar\.|shared|movmatrix}}
// CHECK: ret
func.func @registers(%p: !tile.ptr<i32>) {
  %x = tile.range 0, 128 : tensor<128xi32, #four>
  %y = tile.convert_layout %x : tensor<128xi32, #four> -> tensor<128xi32, #renamed>
  %ps = tile.splat %p : !tile.ptr<i32> -> tensor<128x!tile.ptr<i32>, #renamed>
  tile.store %ps, %y : tensor<128x!tile.ptr<i32>, #renamed>, tensor<128xi32, #renamed>
  return
}

// Lanes in another order: a shuffle for each register.
// CHECK-LABEL: .entry lanes(
// CHECK-COUNT-4: shfl.sync.idx.b32
// CHECK-NOT: {{shfl|bar\.|shared}}
// CHECK: ret
func.func @lanes(%p: !tile.ptr<i32>) {
  %x = tile.range 0, 128 : tensor<128xi32, #four>
  %y = tile.convert_layout %x : tensor<128xi32, #four> -> tensor<128xi32, #lanes>
  %ps = tile.splat %p : !tile.ptr<i32> -> tensor<128x!tile.ptr<i32>, #lanes>
  tile.store %ps, %y : tensor<128x!tile.ptr<i32>, #lanes>, tensor<128xi32, #lanes>
  return
}

// Of 16 bits two neighbours share a word: half as many.
// CHECK-LABEL: .entry words(
// CHECK-COUNT-2: shfl.sync.idx.b32
// CHECK-NOT: {{shfl|bar\.|shared}}
// CHECK: ret
func.func @words(%p: !tile.ptr<i16>) {
  %i = tile.range 0, 128 : tensor<128xi32, #four>
  %x = arith.trunci %i : tensor<128xi32, #four> to tensor<128xi16, #four>
  %y = tile.convert_layout %x : tensor<128xi16, #four> -> tensor<128xi16, #lanes>
  %ps = tile.splat %p : !tile.ptr<i16> -> tensor<128x!tile.ptr<i16>, #lanes>
  tile.store %ps, %y : tensor<128x!tile.ptr<i16>, #lanes>, tensor<128xi16, #lanes>
  return
}

// A bit of the register for one of the lane: selects, two shuffles for four
// registers, as half of them stay.
// CHECK-LABEL: .entry swapped(
// CHECK: selp
// CHECK-COUNT-2: shfl.sync.{{idx|bfly}}.b32
// CHECK-NOT: {{shfl|bar\.|shared}}
// CHECK: ret
func.func @swapped(%p: !tile.ptr<i32>) {
  %x = tile.range 0, 128 : tensor<128xi32, #four>
  %y = tile.convert_layout %x : tensor<128xi32, #four> -> tensor<128xi32, #swapped>
  %ps = tile.splat %p : !tile.ptr<i32> -> tensor<128x!tile.ptr<i32>, #swapped>
  tile.store %ps, %y : tensor<128x!tile.ptr<i32>, #swapped>, tensor<128xi32, #swapped>
  return
}

// Rows of an 8x8 block of 16 bits for columns.
// CHECK-LABEL: .entry blocks(
// CHECK: movmatrix.sync.aligned.m8n8.trans.b16
// CHECK-NOT: {{shfl|bar\.|shared|movmatrix}}
// CHECK: ret
func.func @blocks(%p: !tile.ptr<i16>) {
  %i = tile.range 0, 64 : tensor<64xi32, #accrow>
  %h = arith.trunci %i : tensor<64xi32, #accrow> to tensor<64xi16, #accrow>
  %x = tile.reshape %h : tensor<64xi16, #accrow> -> tensor<8x8xi16, #acc>
  %y = tile.convert_layout %x : tensor<8x8xi16, #acc> -> tensor<8x8xi16, #turned>
  %ps = tile.splat %p : !tile.ptr<i16> -> tensor<8x8x!tile.ptr<i16>, #turned>
  tile.store %ps, %y : tensor<8x8x!tile.ptr<i16>, #turned>, tensor<8x8xi16, #turned>
  return
}

// All lanes want something of all lanes: stores, a barrier, loads.
// CHECK-LABEL: .entry memory(
// CHECK-NOT: ld.shared
// CHECK: st.shared{{(\.v4)?}}
// CHECK: bar.warp.sync
// CHECK-NOT: {{[ \t]}}st.shared
// CHECK: {{ld\.shared|ldmatrix}}
// CHECK-NOT: {{shfl|[ \t]st\.shared}}
// CHECK: ret
func.func @memory(%p: !tile.ptr<i32>) {
  %i = tile.range 0, 1024 : tensor<1024xi32, #flatrows>
  %x = tile.reshape %i : tensor<1024xi32, #flatrows> -> tensor<64x16xi32, #rows>
  %y = tile.convert_layout %x : tensor<64x16xi32, #rows> -> tensor<64x16xi32, #columns>
  %ps = tile.splat %p : !tile.ptr<i32> -> tensor<64x16x!tile.ptr<i32>, #columns>
  tile.store %ps, %y : tensor<64x16x!tile.ptr<i32>, #columns>, tensor<64x16xi32, #columns>
  return
}
