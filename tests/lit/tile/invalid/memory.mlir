// RUN: tessera-opt %s -split-input-file -verify-diagnostics

// expected-error @+1 {{a pointer needs a number as its element}}
func.func private @pointee(!tile.ptr<tensor<4xf32>>)

// -----

func.func @offset_shape(%p: tensor<8x!tile.ptr<f32>>, %i: tensor<4xi32>) {
  // expected-error @+1 {{needs an offset of the pointer's shape}}
  %q = tile.addptr %p, %i : tensor<8x!tile.ptr<f32>>, tensor<4xi32>
  return
}

// -----

func.func @store_type(%p: tensor<8x!tile.ptr<f32>>, %v: tensor<8xf16>) {
  // expected-error @+1 {{needs a value of type 'tensor<8xf32>'}}
  tile.store %p, %v : tensor<8x!tile.ptr<f32>>, tensor<8xf16>
  return
}

// -----

func.func @other_without_mask(%p: !tile.ptr<f32>, %z: f32) {
  // expected-error @+1 {{has `other` but no mask}}
  %v = tile.load %p other %z : !tile.ptr<f32>
  return
}

// -----

func.func @atomic_kind(%p: !tile.ptr<f32>, %v: f32) {
  // expected-error @+1 {{needs integers, got 'f32'}}
  %o = tile.atomic_rmw add %p, %v : !tile.ptr<f32>, f32
  return
}

// -----

func.func @scratch_of_nothing(%x: f32) {
  // expected-error @+1 {{stands before an operation without scratch}}
  tile.barrier scratch
  %y = arith.negf %x : f32
  return
}
