// RUN: tessera-opt %s -split-input-file -verify-diagnostics

func.func @dot_shapes(%a: tensor<16x32xf32>, %b: tensor<16x8xf32>, %c: tensor<16x8xf32>) {
  // expected-error @+1 {{shapes do not fit}}
  %d = tile.dot %a, %b, %c ieee : tensor<16x32xf32>, tensor<16x8xf32> -> tensor<16x8xf32>
  return
}

// -----

func.func @dot_accumulator(%a: tensor<16x32xf16>, %b: tensor<32x8xf16>, %c: tensor<16x8xf16>) {
  // expected-error @+1 {{accumulates in 'f32', got 'f16'}}
  %d = tile.dot %a, %b, %c ieee : tensor<16x32xf16>, tensor<32x8xf16> -> tensor<16x8xf16>
  return
}

// -----

func.func @reduce_result(%x: tensor<16x32xf32>) {
  // expected-error @+1 {{gives 'tensor<16xf32>', not 'tensor<32xf32>'}}
  %m = tile.reduce max %x, 1 : tensor<16x32xf32> -> tensor<32xf32>
  return
}

// -----

func.func @reduce_kind(%x: tensor<16xf32>) {
  // expected-error @+1 {{needs integers}}
  %m = tile.reduce and %x, 0 : tensor<16xf32> -> f32
  return
}

// -----

func.func @argmax_type(%x: tensor<16xf32>) {
  // expected-error @+1 {{gives 'i32', not 'f32'}}
  %m = tile.reduce argmax %x, 0 : tensor<16xf32> -> f32
  return
}

// -----

func.func @bitcast_width(%x: tensor<16xf32>) {
  // expected-error @+1 {{needs equal widths}}
  %m = tile.bitcast %x : tensor<16xf32> -> tensor<16xi16>
  return
}

// -----

func.func @dot_batches(%a: tensor<2x16x32xf32>, %b: tensor<4x32x8xf32>, %c: tensor<2x16x8xf32>) {
  // expected-error @+1 {{batches of different sizes}}
  %d = tile.dot %a, %b, %c ieee : tensor<2x16x32xf32>, tensor<4x32x8xf32> -> tensor<2x16x8xf32>
  return
}

// -----

func.func @reduce_by_shapes(%x: tensor<16xf32>, %y: tensor<8xf32>) {
  // expected-error @+1 {{sources of one shape}}
  %m:2 = tile.reduce_by %x, %y axis 0 : tensor<16xf32>, tensor<8xf32> -> f32, f32 {
  ^bb0(%a: f32, %b: f32, %c: f32, %d: f32):
    tile.yield %a, %b : f32, f32
  }
  return
}

// -----

func.func @reduce_by_arguments(%x: tensor<16xf32>) {
  // expected-error @+1 {{two scalars for each source}}
  %m = tile.reduce_by %x axis 0 : tensor<16xf32> -> f32 {
  ^bb0(%a: f32):
    tile.yield %a : f32
  }
  return
}

// -----

func.func @reduce_by_result(%x: tensor<16x4xf32>) {
  // expected-error @+1 {{gives 'tensor<16xf32>', not 'tensor<4xf32>'}}
  %m = tile.reduce_by %x axis 1 : tensor<16x4xf32> -> tensor<4xf32> {
  ^bb0(%a: f32, %b: f32):
    tile.yield %a : f32
  }
  return
}

// -----

func.func @scan_by_yield(%x: tensor<16xf32>) {
  // expected-error @+1 {{must yield one scalar for each source}}
  %m = tile.scan_by %x axis 0 : tensor<16xf32> -> tensor<16xf32> {
  ^bb0(%a: f32, %b: f32):
    tile.yield %a, %b : f32, f32
  }
  return
}

// -----

func.func @sort_unsigned(%x: tensor<16xf32>) {
  // expected-error @+1 {{integers only}}
  %s = tile.sort %x {isUnsigned} : tensor<16xf32>
  return
}

// -----

func.func @instruction_elements(%a: tensor<16x16xf16>, %b: tensor<16x8xf16>, %c: tensor<16x8xf32>) {
  // expected-error @+1 {{mma_m16n8k8 does not multiply 'f16' with precision tf32}}
  %d = tile.dot %a, %b, %c tf32 by mma_m16n8k8 : tensor<16x16xf16>, tensor<16x8xf16> -> tensor<16x8xf32>
  return
}

// -----

func.func @instruction_precision(%a: tensor<16x16xf32>, %b: tensor<16x8xf32>, %c: tensor<16x8xf32>) {
  // expected-error @+1 {{mma_m16n8k8 does not multiply 'f32' with precision ieee}}
  %d = tile.dot %a, %b, %c ieee by mma_m16n8k8 : tensor<16x16xf32>, tensor<16x8xf32> -> tensor<16x8xf32>
  return
}

// -----

func.func @instruction_k(%a: tensor<16x8xf16>, %b: tensor<8x8xf16>, %c: tensor<16x8xf32>) {
  // expected-error @+1 {{sums over 8, mma_m16n8k16 over 16}}
  %d = tile.dot %a, %b, %c tf32 by mma_m16n8k16 : tensor<16x8xf16>, tensor<8x8xf16> -> tensor<16x8xf32>
  return
}

// -----

// Rows of a in the lanes where acc has columns.
#a = #tile.linear<16x16, register = [[0, 1], [8, 0], [0, 8]], lane = [[1, 0], [2, 0], [4, 0], [0, 2], [0, 4]], warp = []>
#b = #tile.linear<16x8, register = [[1, 0], [8, 0]], lane = [[2, 0], [4, 0], [0, 1], [0, 2], [0, 4]], warp = []>
#acc = #tile.linear<16x8, register = [[0, 1], [8, 0]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = []>
func.func @instruction_layouts(%a: tensor<16x16xf16, #a>, %b: tensor<16x8xf16, #b>, %c: tensor<16x8xf32, #acc>) {
  // expected-error @+1 {{lanes lack elements of the fragments of mma_m16n8k16}}
  %d = tile.dot %a, %b, %c tf32 by mma_m16n8k16 : tensor<16x16xf16, #a>, tensor<16x8xf16, #b> -> tensor<16x8xf32, #acc>
  return
}

// -----

func.func @fma_without_reason(%a: tensor<16x16xf32>, %b: tensor<16x8xf32>, %c: tensor<16x8xf32>) {
  // expected-error @+1 {{runs as fma and does not say why}}
  %d = tile.dot %a, %b, %c ieee by fma : tensor<16x16xf32>, tensor<16x8xf32> -> tensor<16x8xf32>
  return
}

// -----

func.func @fma_wrong_reason(%a: tensor<16x16xf32>, %b: tensor<16x8xf32>, %c: tensor<16x8xf32>) {
  // expected-error @+1 {{runs as fma because `ieee`, which its operands are not}}
  %d = tile.dot %a, %b, %c tf32 by fma because ieee : tensor<16x16xf32>, tensor<16x8xf32> -> tensor<16x8xf32>
  return
}

// -----

func.func @reason_without_fma(%a: tensor<16x16xf32>, %b: tensor<16x8xf32>, %c: tensor<16x8xf32>) {
  // expected-error @+1 {{has a reason for fma but runs by mma_m16n8k8}}
  %d = tile.dot %a, %b, %c tf32 by mma_m16n8k8 because ieee : tensor<16x16xf32>, tensor<16x8xf32> -> tensor<16x8xf32>
  return
}

// -----

func.func @reason_alone(%a: tensor<16x16xf32>, %b: tensor<16x8xf32>, %c: tensor<16x8xf32>) {
  // expected-error @+1 {{has a reason for fma but no instruction}}
  %d = tile.dot %a, %b, %c ieee because ieee : tensor<16x16xf32>, tensor<16x8xf32> -> tensor<16x8xf32>
  return
}
