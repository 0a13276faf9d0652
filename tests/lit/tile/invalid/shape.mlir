// RUN: tessera-opt %s -split-input-file -verify-diagnostics

func.func @range_size() {
  // expected-error @+1 {{of 16 integers has type 'tensor<8xi32>'}}
  %r = tile.range 0, 16 : tensor<8xi32>
  return
}

// -----

func.func @range_power_of_two() {
  // expected-error @+1 {{needs static power-of-two dimensions}}
  %r = tile.range 0, 12 : tensor<12xi32>
  return
}

// -----

func.func @splat_type(%x: f32) {
  // expected-error @+1 {{changes the element type from 'f32' to 'i32'}}
  %t = tile.splat %x : f32 -> tensor<4xi32>
  return
}

// -----

func.func @too_large(%x: f32) {
  // expected-error @+1 {{the limit is 1048576}}
  %t = tile.splat %x : f32 -> tensor<2048x1024xf32>
  return
}

// -----

func.func @expand_axis(%x: tensor<4xf32>) {
  // expected-error @+1 {{axis 2 is outside 0..1}}
  %t = tile.expand_dims %x, 2 : tensor<4xf32> -> tensor<4x1xf32>
  return
}

// -----

func.func @broadcast_grows(%x: tensor<4x2xf32>) {
  // expected-error @+1 {{only grows dimensions of size 1}}
  %t = tile.broadcast %x : tensor<4x2xf32> -> tensor<4x8xf32>
  return
}

// -----

func.func @trans_order(%x: tensor<4x2xf32>) {
  // expected-error @+1 {{not a permutation}}
  %t = tile.trans %x [0, 0] : tensor<4x2xf32> -> tensor<4x4xf32>
  return
}

// -----

func.func @split_last(%x: tensor<4x4xf32>) {
  // expected-error @+1 {{last dimension of size 2}}
  %a, %b = tile.split %x : tensor<4x4xf32> -> tensor<4xf32>
  return
}

// -----

func.func @reshape_count(%x: tensor<4x4xf32>) {
  // expected-error @+1 {{cannot turn 'tensor<4x4xf32>' into 'tensor<8xf32>'}}
  %a = tile.reshape %x : tensor<4x4xf32> -> tensor<8xf32>
  return
}
