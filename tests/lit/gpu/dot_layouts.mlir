// RUN: tessera-opt %s -tessera-dot-instructions -tessera-dot-layouts=num-warps=4 | FileCheck %s
// RUN: %docblock-layouts.md dots.before > %t.before
// RUN: tessera-opt %s | FileCheck %t.before
// RUN: %docblock-layouts.md dots.after > %t.after
// RUN: tessera-opt %s -tessera-dot-instructions -tessera-dot-layouts=num-warps=4 | FileCheck %t.after

// softmax(Q K^T) V: all warps along M, so that P is where the second dot wants
// it, without a conversion.
// CHECK-DAG: [[S:#.*]] = #tile.linear<64x32, register = {{\[\[}}0, 1], [8, 0], [0, 8], [0, 16]], lane = {{\[\[}}0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = {{\[\[}}16, 0], [32, 0]]>
// One dot alone: a warp's tile is as square as it can be.
// CHECK-DAG: [[SQUARE:#.*]] = #tile.linear<64x64, register = {{\[\[}}0, 1], [8, 0], [0, 16], [0, 32], [32, 0]], lane = {{\[\[}}0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = {{\[\[}}0, 8], [16, 0]]>
// 16 rows: warps along N.
// CHECK-DAG: [[FLAT:#.*]] = #tile.linear<16x64, register = {{\[\[}}0, 1], [8, 0], [0, 32]], lane = {{\[\[}}0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = {{\[\[}}0, 8], [0, 16]]>
// tf32: four rows of K in a lane's registers 4 apart.
// CHECK-DAG: [[TF32A:#.*]] = #tile.linear<64x32, register = {{\[\[}}8, 0], [0, 4], [0, 8], [0, 16], [32, 0]], lane = {{\[\[}}0, 1], [0, 2], [1, 0], [2, 0], [4, 0]], warp = {{\[\[}}0, 0], [16, 0]]>
// CHECK-DAG: [[PAIRED:#.*]] = #tile.linear<64x64, register = {{\[\[}}0, 1], [8, 0], [0, 8], [16, 0], [32, 0]], lane = {{\[\[}}0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = {{\[\[}}0, 16], [0, 32]]>
// The accumulator of s^T, written as s: keys (columns) in eight groups of lanes.
// CHECK-DAG: [[TURNED:#.*]] = #tile.linear<64x64, register = {{\[\[}}1, 0], [0, 8], [8, 0], [16, 0], [32, 0]], lane = {{\[\[}}2, 0], [4, 0], [0, 1], [0, 2], [0, 4]], warp = {{\[\[}}0, 16], [0, 32]]>
// The same of 8 rows, which are the 8 columns of the instruction.
// CHECK-DAG: [[EIGHT:#.*]] = #tile.linear<8x64, register = {{\[\[}}1, 0], [0, 8]], lane = {{\[\[}}2, 0], [4, 0], [0, 1], [0, 2], [0, 4]], warp = {{\[\[}}0, 16], [0, 32]]>
// That of (q^T s)^T with rows g and g + 8 next to each other; q^T as its A.
// CHECK-DAG: [[SUMS:#.*]] = #tile.linear<64x64, register = {{\[\[}}1, 0], [0, 1], [8, 0], [0, 16], [0, 32]], lane = {{\[\[}}2, 0], [4, 0], [0, 2], [0, 4], [0, 8]], warp = {{\[\[}}16, 0], [32, 0]]>
// CHECK-DAG: [[ALONG:#.*]] = #tile.linear<64x64, register = {{\[\[}}1, 0], [0, 1], [8, 0], [16, 0], [32, 0], [0, 16], [0, 32]], lane = {{\[\[}}2, 0], [4, 0], [0, 2], [0, 4], [0, 8]], warp = {{\[\[}}0, 0], [0, 0]]>
// CHECK-DAG: [[PAIRS:#.*]] = #tile.linear<64x64, register = {{\[\[}}0, 1], [8, 0], [0, 8], [0, 16], [0, 32]], lane = {{\[\[}}0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = {{\[\[}}16, 0], [32, 0]]>
// Rows 2 g and 2 g + 1 side by side where A comes from memory along M.
// CHECK-DAG: [[LOW:#.*]] = #tile.linear<16x64, register = {{\[\[}}0, 1], [1, 0], [0, 32]], lane = {{\[\[}}0, 2], [0, 4], [2, 0], [4, 0], [8, 0]], warp = {{\[\[}}0, 8], [0, 16]]>
// By multiply-adds: of 16 results a thread has 4 x 4, of 8 it has 2 x 4, and of 4 a row.
// CHECK-DAG: [[FOUR_ROWS:#.*]] = #tile.linear<64x32, register = {{\[\[}}0, 1], [0, 2], [1, 0], [2, 0]], lane = {{\[\[}}0, 4], [0, 8], [0, 16], [4, 0], [8, 0]], warp = {{\[\[}}16, 0], [32, 0]]>
// CHECK-DAG: [[TWO_ROWS:#.*]] = #tile.linear<32x32, register = {{\[\[}}0, 1], [0, 2], [1, 0]], lane = {{\[\[}}0, 4], [0, 8], [0, 16], [2, 0], [4, 0]], warp = {{\[\[}}8, 0], [16, 0]]>
// CHECK-DAG: [[ONE_ROW:#.*]] = #tile.linear<16x32, register = {{\[\[}}0, 1], [0, 2]], lane = {{\[\[}}0, 4], [0, 8], [0, 16], [1, 0], [2, 0]], warp = {{\[\[}}4, 0], [8, 0]]>

// CHECK-LABEL: @attention
// CHECK: tile.dot {{.*}} tf32 by mma_m16n8k16 {tile.layout = [{{.*}}, {{.*}}, [[S]]]}
// CHECK: tile.dot {{.*}} by mma_m16n8k16 {
func.func @attention(%q: tensor<64x64xbf16>, %k: tensor<64x32xbf16>, %v: tensor<32x64xbf16>) -> tensor<64x64xf32> {
  %z = arith.constant dense<0.0> : tensor<64x32xf32>
  %y = arith.constant dense<0.0> : tensor<64x64xf32>
  %s = tile.dot %q, %k, %z tf32 : tensor<64x64xbf16>, tensor<64x32xbf16> -> tensor<64x32xf32>
  %e = math.exp2 %s : tensor<64x32xf32>
  %p = tile.convert %e rtne : tensor<64x32xf32> -> tensor<64x32xbf16>
  %o = tile.dot %p, %v, %y tf32 : tensor<64x32xbf16>, tensor<32x64xbf16> -> tensor<64x64xf32>
  return %o : tensor<64x64xf32>
}

// CHECK-LABEL: @alone
// CHECK: tile.dot {{.*}}{tile.layout = [{{.*}}, {{.*}}, [[SQUARE]]]}
// CHECK: tile.dot {{.*}}{tile.layout = [{{.*}}, {{.*}}, [[FLAT]]]}
func.func @alone(%a: tensor<64x32xf16>, %b: tensor<32x64xf16>, %c: tensor<64x64xf32>, %d: tensor<16x32xf16>, %e: tensor<16x64xf32>) -> (tensor<64x64xf32>, tensor<16x64xf32>) {
  %x = tile.dot %a, %b, %c tf32 : tensor<64x32xf16>, tensor<32x64xf16> -> tensor<64x64xf32>
  %y = tile.dot %d, %b, %e tf32 : tensor<16x32xf16>, tensor<32x64xf16> -> tensor<16x64xf32>
  return %x, %y : tensor<64x64xf32>, tensor<16x64xf32>
}

// fp32: tf32 on tensor cores, ieee and K = 8 of 16 bits by multiply-adds.
// CHECK-LABEL: @precision
// CHECK: tile.dot {{.*}} tf32 by mma_m16n8k8 {tile.layout = [[[TF32A]], {{.*}}]}
// CHECK: tile.dot {{.*}} ieee by fma because ieee {tile.layout = [#{{[a-z0-9]*}}, #{{[a-z0-9]*}}, #{{[a-z0-9]*}}]} :
// CHECK: tile.dot {{.*}} tf32 by fma because short_k {tile.layout = [#{{[a-z0-9]*}}, #{{[a-z0-9]*}}, #{{[a-z0-9]*}}]} :
func.func @precision(%a: tensor<64x32xf32>, %b: tensor<32x64xf32>, %c: tensor<64x64xf32>, %d: tensor<64x8xf16>, %e: tensor<8x64xf16>) -> (tensor<64x64xf32>, tensor<64x64xf32>) {
  %x = tile.dot %a, %b, %c tf32 : tensor<64x32xf32>, tensor<32x64xf32> -> tensor<64x64xf32>
  %y = tile.dot %a, %b, %x ieee : tensor<64x32xf32>, tensor<32x64xf32> -> tensor<64x64xf32>
  %z = tile.dot %d, %e, %y tf32 : tensor<64x8xf16>, tensor<8x64xf16> -> tensor<64x64xf32>
  return %x, %z : tensor<64x64xf32>, tensor<64x64xf32>
}

// CHECK-LABEL: @multiply_adds
// CHECK: tile.dot {{.*}} by fma {{.*}}{tile.layout = [{{.*}}, {{.*}}, [[FOUR_ROWS]]]}
// CHECK: tile.dot {{.*}} by fma {{.*}}{tile.layout = [{{.*}}, {{.*}}, [[TWO_ROWS]]]}
// CHECK: tile.dot {{.*}} by fma {{.*}}{tile.layout = [{{.*}}, {{.*}}, [[ONE_ROW]]]}
func.func @multiply_adds(%a: tensor<64x32xf32>, %b: tensor<32x32xf32>, %c: tensor<16x32xf32>, %d: tensor<64x32xf32>) -> (tensor<64x32xf32>, tensor<32x32xf32>, tensor<16x32xf32>) {
  %x = tile.dot %a, %b, %d ieee : tensor<64x32xf32>, tensor<32x32xf32> -> tensor<64x32xf32>
  %y = tile.dot %b, %b, %b ieee : tensor<32x32xf32>, tensor<32x32xf32> -> tensor<32x32xf32>
  %z = tile.dot %c, %b, %c ieee : tensor<16x32xf32>, tensor<32x32xf32> -> tensor<16x32xf32>
  return %x, %y, %z : tensor<64x32xf32>, tensor<32x32xf32>, tensor<16x32xf32>
}

// P^T of 16 bits: a warp's 16 columns of S are neighbours, as rows of an A are.
// CHECK-LABEL: @transposed
// CHECK: tile.dot {{.*}}{tile.layout = [{{.*}}, [[PAIRED]]]}
// tf32 after another dot: pairs of neighbours along K.
// CHECK: tile.dot {{.*}}{tile.layout = [{{.*}}]}
// CHECK: tile.dot {{.*}}{tile.layout = [[[PAIRS]], {{.*}}]}
func.func @transposed(%q: tensor<64x64xbf16>, %k: tensor<64x64xbf16>, %v: tensor<64x64xbf16>, %w: tensor<64x64xf32>, %z: tensor<64x64xf32>) -> (tensor<64x64xf32>, tensor<64x64xf32>) {
  %s = tile.dot %q, %k, %z tf32 : tensor<64x64xbf16>, tensor<64x64xbf16> -> tensor<64x64xf32>
  %h = tile.convert %s rtne : tensor<64x64xf32> -> tensor<64x64xbf16>
  %t = tile.trans %h [1, 0] : tensor<64x64xbf16> -> tensor<64x64xbf16>
  %o = tile.dot %t, %v, %z tf32 : tensor<64x64xbf16>, tensor<64x64xbf16> -> tensor<64x64xf32>
  %p = tile.dot %o, %w, %z tf32 : tensor<64x64xf32>, tensor<64x64xf32> -> tensor<64x64xf32>
  // 2,048 products a thread: operands in any layout.
  // CHECK: tile.dot {{.*}} ieee by fma because ieee {tile.layout = [#{{[a-z0-9]*}}]} :
  %y = tile.dot %w, %w, %p ieee : tensor<64x64xf32>, tensor<64x64xf32> -> tensor<64x64xf32>
  return %o, %y : tensor<64x64xf32>, tensor<64x64xf32>
}

// The same with 32 bits: nothing transposes them on the way, so the first dot
// computes s^T = k^T q^T, and the second, whose B runs along N in memory, has B
// for the instruction's A.
// CHECK-LABEL: @swapped
// CHECK: tile.dot {{.*}}{tile.layout = [{{.*}}, [[TURNED]]]}
// CHECK: tile.dot {{.*}}{tile.layout = [{{.*}}, [[ALONG]], [[SUMS]]]}
#rows = #tile.linear<64x64, register = [[0, 1], [0, 2], [8, 0], [16, 0], [32, 0]], lane = [[0, 4], [0, 8], [0, 16], [0, 32], [1, 0]], warp = [[2, 0], [4, 0]]>
func.func @swapped(%p: tensor<64x64x!tile.ptr<f32>>, %k: tensor<64x64xf32>, %z: tensor<64x64xf32>, %n: i32) -> tensor<64x64xf32> {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%y = %z) -> (tensor<64x64xf32>) : i32 {
    %q = tile.load %p {tile.layout = #rows} : tensor<64x64x!tile.ptr<f32>>
    %s = tile.dot %q, %k, %z tf32 : tensor<64x64xf32>, tensor<64x64xf32> -> tensor<64x64xf32>
    %t = tile.trans %s [1, 0] : tensor<64x64xf32> -> tensor<64x64xf32>
    %x = tile.dot %t, %q, %y tf32 : tensor<64x64xf32>, tensor<64x64xf32> -> tensor<64x64xf32>
    scf.yield %x : tensor<64x64xf32>
  }
  return %r : tensor<64x64xf32>
}

// 8 rows are enough to swap the operands: an instruction has 8 columns.
// CHECK-LABEL: @swapped_eight_rows
// CHECK: tile.dot {{.*}}{tile.layout = [{{.*}}, [[EIGHT]]]}
func.func @swapped_eight_rows(%q: tensor<8x64xf32>, %k: tensor<64x64xf32>, %z: tensor<8x64xf32>, %y: tensor<64x64xf32>) -> tensor<64x64xf32> {
  %s = tile.dot %q, %k, %z tf32 : tensor<8x64xf32>, tensor<64x64xf32> -> tensor<8x64xf32>
  %t = tile.trans %s [1, 0] : tensor<8x64xf32> -> tensor<64x8xf32>
  %x = tile.dot %t, %q, %y tf32 : tensor<64x8xf32>, tensor<8x64xf32> -> tensor<64x64xf32>
  return %x : tensor<64x64xf32>
}

// A sum of softmax: its rows are scaled before each sum.
// CHECK-LABEL: @scaled
// CHECK: tile.dot {{.*}}{tile.layout = [{{.*}}, [[ALONG]], [[SUMS]]]}
func.func @scaled(%p: tensor<64x64x!tile.ptr<f32>>, %q: tensor<64x64xf32>, %w: tensor<64xf32>, %z: tensor<64x64xf32>, %n: i32) -> tensor<64x64xf32> {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%y = %z) -> (tensor<64x64xf32>) : i32 {
    %v = tile.load %p {tile.layout = #rows} : tensor<64x64x!tile.ptr<f32>>
    %s = tile.dot %q, %q, %z tf32 : tensor<64x64xf32>, tensor<64x64xf32> -> tensor<64x64xf32>
    %e = tile.expand_dims %w, 1 : tensor<64xf32> -> tensor<64x1xf32>
    %b = tile.broadcast %e : tensor<64x1xf32> -> tensor<64x64xf32>
    %m = arith.mulf %y, %b : tensor<64x64xf32>
    %x = tile.dot %s, %v, %m tf32 : tensor<64x64xf32>, tensor<64x64xf32> -> tensor<64x64xf32>
    scf.yield %x : tensor<64x64xf32>
  }
  return %r : tensor<64x64xf32>
}

// A that runs along M in memory has its rows in pairs from 16 rows on, which is
// the height of the instruction.
// CHECK-LABEL: @columns
// CHECK: tile.dot {{.*}}{tile.layout = [{{.*}}, {{.*}}, [[LOW]]]}
#down = #tile.linear<16x32, register = [[1, 0], [2, 0]], lane = [[4, 0], [8, 0], [0, 1], [0, 2], [0, 4]], warp = [[0, 8], [0, 16]]>
func.func @columns(%p: tensor<16x32x!tile.ptr<f32>>, %b: tensor<32x64xf32>, %z: tensor<16x64xf32>) -> tensor<16x64xf32> {
  %a = tile.load %p {tile.layout = #down} : tensor<16x32x!tile.ptr<f32>>
  %x = tile.dot %a, %b, %z tf32 : tensor<16x32xf32>, tensor<32x64xf32> -> tensor<16x64xf32>
  return %x : tensor<16x64xf32>
}
