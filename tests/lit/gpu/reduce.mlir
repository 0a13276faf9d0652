// tile.reduce: registers, lanes, warps.
// RUN: tessera-lower %s --laid-out --num-warps=2 | FileCheck %s

#block = #tile.linear<8x32, register = [[0, 1], [1, 0]], lane = [[0, 2], [0, 4], [0, 8], [2, 0], [4, 0]], warp = [[0, 16]]>
#flat = #tile.linear<256, register = [[1], [32]], lane = [[2], [4], [8], [64], [128]], warp = [[16]]>
#sums = #tile.linear<8, register = [[1]], lane = [[0], [0], [0], [2], [4]], warp = [[0]]>
#mine = #tile.linear<8x32, register = [[0, 1], [0, 2], [0, 4]], lane = [[1, 0], [2, 0], [4, 0], [0, 8], [0, 16]], warp = [[0, 0]]>
#flatmine = #tile.linear<256, register = [[1], [2], [4]], lane = [[32], [64], [128], [8], [16]], warp = [[0]]>
#summine = #tile.linear<8, register = [], lane = [[1], [2], [4], [0], [0]], warp = [[0]]>
#acc = #tile.linear<16x32, register = [[0, 1], [8, 0], [0, 8], [0, 16]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[0, 0]]>
#flatacc = #tile.linear<512, register = [[1], [256], [8], [16]], lane = [[2], [4], [32], [64], [128]], warp = [[0]]>
#share = #tile.linear<32, register = [], lane = [[2], [4], [16], [8], [1]], warp = [[0]]>
#warp = #tile.linear<32, register = [], lane = [[1], [2], [4], [8], [16]], warp = [[0]]>

// Eight elements of a row in a lane: seven sums, then two shuffles over the
// four lanes that share a row. No warp needs another.
// CHECK-LABEL: .entry lanes(
// CHECK-COUNT-2: shfl.sync.bfly.b32
// CHECK-NOT: {{shfl|redux|bar\.|shared}}
// CHECK: ret
func.func @lanes(%p: !tile.ptr<f32>, %o: !tile.ptr<f32>) {
  %i = tile.range 0, 256 : tensor<256xi32, #flatmine>
  %f = arith.sitofp %i : tensor<256xi32, #flatmine> to tensor<256xf32, #flatmine>
  %x = tile.reshape %f : tensor<256xf32, #flatmine> -> tensor<8x32xf32, #mine>
  %s = tile.reduce sum %x, 1 : tensor<8x32xf32, #mine> -> tensor<8xf32, #summine>
  %ps = tile.splat %o : !tile.ptr<f32> -> tensor<8x!tile.ptr<f32>, #summine>
  tile.store %ps, %s : tensor<8x!tile.ptr<f32>, #summine>, tensor<8xf32, #summine>
  return
}

// Eight lanes share a column and have elements of eight columns each. Where each lane keeps one, the lanes
// exchange four, two and one; not three times eight.
// CHECK-LABEL: .entry shares(
// CHECK-COUNT-7: shfl.sync.bfly.b32
// CHECK-NOT: {{shfl|bar\.|shared}}
// CHECK: st.global.b32
// CHECK-NOT: st.global
// CHECK: ret
func.func @shares(%x: f32, %o: !tile.ptr<f32>) {
  %r = tile.range 0, 512 : tensor<512xi32, #flatacc>
  %f = arith.sitofp %r : tensor<512xi32, #flatacc> to tensor<512xf32, #flatacc>
  %t = tile.reshape %f : tensor<512xf32, #flatacc> -> tensor<16x32xf32, #acc>
  %s = tile.reduce sum %t, 0 : tensor<16x32xf32, #acc> -> tensor<32xf32, #share>
  %ps = tile.splat %o : !tile.ptr<f32> -> tensor<32x!tile.ptr<f32>, #share>
  %i = tile.range 0, 32 : tensor<32xi32, #share>
  %p = tile.addptr %ps, %i : tensor<32x!tile.ptr<f32>, #share>, tensor<32xi32, #share>
  tile.store %p, %s : tensor<32x!tile.ptr<f32>, #share>, tensor<32xf32, #share>
  return
}

// redux combines integers of all lanes of a warp at once.
// CHECK-LABEL: .entry integers(
// CHECK: redux.sync.add.s32
// CHECK: redux.sync.max.s32
// CHECK: redux.sync.min.u32
// CHECK: redux.sync.xor.b32
// CHECK-NOT: {{shfl|bar\.|shared}}
// CHECK: ret
func.func @integers(%o: !tile.ptr<i32>) {
  %x = tile.range 0, 32 : tensor<32xi32, #warp>
  %a = tile.reduce sum %x, 0 : tensor<32xi32, #warp> -> i32
  %b = tile.reduce max %x, 0 : tensor<32xi32, #warp> -> i32
  %c = tile.reduce umin %x, 0 : tensor<32xi32, #warp> -> i32
  %d = tile.reduce xor %x, 0 : tensor<32xi32, #warp> -> i32
  tile.store %o, %a : !tile.ptr<i32>, i32
  tile.store %o, %b : !tile.ptr<i32>, i32
  tile.store %o, %c : !tile.ptr<i32>, i32
  tile.store %o, %d : !tile.ptr<i32>, i32
  return
}

// Rows over two warps: each warp stores one partial result in shared memory, with one barrier between writing
// and reading and none before. A lane reads one of the two partial results of its two rows, a shuffle joins
// them.
// CHECK-LABEL: .entry warps(
// CHECK-NOT: bar.
// CHECK: shfl.sync.bfly.b32
// CHECK-NOT: bar.
// CHECK: st.shared
// CHECK: bar.sync 0
// CHECK-NOT: {{[ \t]}}st.shared
// CHECK: ld.shared
// CHECK-COUNT-2: shfl.sync.bfly.b32
// CHECK-NOT: {{bar\.|shfl|[ \t]ld.shared}}
// CHECK: ret
func.func @warps(%o: !tile.ptr<f32>) {
  %i = tile.range 0, 256 : tensor<256xi32, #flat>
  %f = arith.sitofp %i : tensor<256xi32, #flat> to tensor<256xf32, #flat>
  %x = tile.reshape %f : tensor<256xf32, #flat> -> tensor<8x32xf32, #block>
  %s = tile.reduce max %x, 1 : tensor<8x32xf32, #block> -> tensor<8xf32, #sums>
  %ps = tile.splat %o : !tile.ptr<f32> -> tensor<8x!tile.ptr<f32>, #sums>
  tile.store %ps, %s : tensor<8x!tile.ptr<f32>, #sums>, tensor<8xf32, #sums>
  return
}

// An index travels with its value, and a region is applied unchanged.
// CHECK-LABEL: .entry pairs(
// CHECK: shfl.sync.{{bfly|down|idx}}.b32
// CHECK: ret
func.func @pairs(%o: !tile.ptr<i32>) {
  %x = tile.range 0, 32 : tensor<32xi32, #warp>
  %a = tile.reduce argmax %x, 0 : tensor<32xi32, #warp> -> i32
  tile.store %o, %a : !tile.ptr<i32>, i32
  return
}
