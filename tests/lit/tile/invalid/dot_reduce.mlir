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
