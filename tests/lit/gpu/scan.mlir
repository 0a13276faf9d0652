// tile.scan, tile.sort, tile.gather, tile.histogram.
// RUN: tessera-lower %s --laid-out --num-warps=2 | FileCheck %s

#warp = #tile.linear<64, register = [[1]], lane = [[2], [4], [8], [16], [32]], warp = [[0]]>
#block = #tile.linear<128, register = [[1]], lane = [[2], [4], [8], [16], [32]], warp = [[64]]>
#lanes = #tile.linear<32, register = [], lane = [[1], [2], [4], [8], [16]], warp = [[0]]>
#bins = #tile.linear<64, register = [], lane = [[1], [2], [4], [8], [16]], warp = [[32]]>

// Five steps over the lanes of a warp; no other warp is asked.
// CHECK-LABEL: .entry scan_warp(
// CHECK-COUNT-5: shfl.sync.{{bfly|up|idx}}.b32
// CHECK-NOT: {{bar\.|[ls][dt]\.shared}}
// CHECK: ret
func.func @scan_warp(%o: !tile.ptr<i32>) {
  %x = tile.range 0, 64 : tensor<64xi32, #warp>
  %y = tile.scan sum %x, 0 : tensor<64xi32, #warp>
  %ps = tile.splat %o : !tile.ptr<i32> -> tensor<64x!tile.ptr<i32>, #warp>
  tile.store %ps, %y : tensor<64x!tile.ptr<i32>, #warp>, tensor<64xi32, #warp>
  return
}

// The totals of warps pass through shared memory once.
// CHECK-LABEL: .entry scan_block(
// CHECK: shfl.sync
// CHECK: st.shared
// CHECK: bar.sync 0
// CHECK: ld.shared
// CHECK-NOT: {{bar\.sync|st\.shared}}
// CHECK: ret
func.func @scan_block(%o: !tile.ptr<i32>) {
  %x = tile.range 0, 128 : tensor<128xi32, #block>
  %y = tile.scan sum %x, 0 : tensor<128xi32, #block>
  %ps = tile.splat %o : !tile.ptr<i32> -> tensor<128x!tile.ptr<i32>, #block>
  tile.store %ps, %y : tensor<128x!tile.ptr<i32>, #block>, tensor<128xi32, #block>
  return
}

// Six stages of 1, 2, ... 6 steps, one of each in a register: 15 shuffles of
// two registers.
// CHECK-LABEL: .entry sort_warp(
// CHECK-COUNT-30: shfl.sync
// CHECK-NOT: {{shfl|bar\.|[ls][dt]\.shared}}
// CHECK: ret
func.func @sort_warp(%o: !tile.ptr<i32>) {
  %x = tile.range 0, 64 : tensor<64xi32, #warp>
  %y = tile.sort %x : tensor<64xi32, #warp>
  %ps = tile.splat %o : !tile.ptr<i32> -> tensor<64x!tile.ptr<i32>, #warp>
  tile.store %ps, %y : tensor<64x!tile.ptr<i32>, #warp>, tensor<64xi32, #warp>
  return
}

// The last stage begins with the other warp: through shared memory.
// CHECK-LABEL: .entry sort_block(
// CHECK: shfl.sync
// CHECK: st.shared
// CHECK: bar.sync 0
// CHECK: ld.shared
// CHECK: shfl.sync
// CHECK: ret
func.func @sort_block(%o: !tile.ptr<i32>) {
  %x = tile.range 0, 128 : tensor<128xi32, #block>
  %y = tile.sort %x descending : tensor<128xi32, #block>
  %ps = tile.splat %o : !tile.ptr<i32> -> tensor<128x!tile.ptr<i32>, #block>
  tile.store %ps, %y : tensor<128x!tile.ptr<i32>, #block>, tensor<128xi32, #block>
  return
}

// The source once into shared memory, then one load for each index.
// CHECK-LABEL: .entry gather(
// CHECK: st.shared
// CHECK: bar.sync 0
// CHECK: ld.shared
// CHECK-NOT: bar.
// CHECK: ret
func.func @gather(%o: !tile.ptr<f32>) {
  %x = tile.range 0, 128 : tensor<128xi32, #block>
  %f = arith.sitofp %x : tensor<128xi32, #block> to tensor<128xf32, #block>
  %i = tile.range 0, 64 : tensor<64xi32, #bins>
  %y = tile.gather %f, %i, 0 : tensor<128xf32, #block>, tensor<64xi32, #bins> -> tensor<64xf32, #bins>
  %ps = tile.splat %o : !tile.ptr<f32> -> tensor<64x!tile.ptr<f32>, #bins>
  tile.store %ps, %y : tensor<64x!tile.ptr<f32>, #bins>, tensor<64xf32, #bins>
  return
}

// A warp holds the axis in its lanes: each lane reads another one.
// CHECK-LABEL: .entry gather_lanes(
// CHECK-NOT: {{bar\.|[ls][dt]\.shared}}
// CHECK: shfl.sync.idx.b32
// CHECK-NOT: {{bar\.|[ls][dt]\.shared}}
// CHECK: ret
func.func @gather_lanes(%o: !tile.ptr<f32>) {
  %i = tile.range 0, 32 : tensor<32xi32, #lanes>
  %f = arith.sitofp %i : tensor<32xi32, #lanes> to tensor<32xf32, #lanes>
  %j = arith.muli %i, %i : tensor<32xi32, #lanes>
  %y = tile.gather %f, %j, 0 : tensor<32xf32, #lanes>, tensor<32xi32, #lanes> -> tensor<32xf32, #lanes>
  %ps = tile.splat %o : !tile.ptr<f32> -> tensor<32x!tile.ptr<f32>, #lanes>
  tile.store %ps, %y : tensor<32x!tile.ptr<f32>, #lanes>, tensor<32xf32, #lanes>
  return
}

// Counters are cleared, counted up, read, with all threads waiting in between.
// CHECK-LABEL: .entry histogram(
// CHECK: st.shared
// CHECK: bar.sync 0
// CHECK: {{red|atom}}{{.*}}.shared{{.*}}add
// CHECK: bar.sync 0
// CHECK: ld.shared
// CHECK: ret
func.func @histogram(%o: !tile.ptr<i32>) {
  %x = tile.range 0, 128 : tensor<128xi32, #block>
  %h = tile.histogram %x : tensor<128xi32, #block> -> tensor<64xi32, #bins>
  %ps = tile.splat %o : !tile.ptr<i32> -> tensor<64x!tile.ptr<i32>, #bins>
  tile.store %ps, %h : tensor<64x!tile.ptr<i32>, #bins>, tensor<64xi32, #bins>
  return
}
