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
