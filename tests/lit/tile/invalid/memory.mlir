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

// -----

func.func @group_of_nothing() {
  // expected-error @+1 {{makes a group of nothing}}
  %g = tile.async_commit
  return
}

// -----

func.func @group_of_groups(%t: !tile.token) {
  %g = tile.async_commit %t
  // expected-error @+1 {{takes a group for a copy}}
  %h = tile.async_commit %g
  return
}

// -----

func.func @wait_for_nothing() {
  // expected-error @+1 {{waits for nothing}}
  tile.async_wait
  return
}

// -----

#row = #tile.linear<64, register = [[1]], lane = [[2], [4], [8], [16], [32]], warp = []>
#memory = #tile.shared<64, offset = [[1], [2], [4], [8], [16], [32]]>
func.func @wait_for_a_copy(%p: tensor<64x!tile.ptr<f32>, #row>, %m: !tile.smem<1 x 64xf32, #memory>) {
  %t = tile.async_copy %p, %m vector 2 : tensor<64x!tile.ptr<f32>, #row> -> !tile.smem<1 x 64xf32, #memory>
  // expected-error @+1 {{waits for a copy that is in no group}}
  tile.async_wait %t
  return
}

// -----

#row = #tile.linear<64, register = [[1]], lane = [[2], [4], [8], [16], [32]], warp = []>
#memory = #tile.shared<64, offset = [[1], [2], [4], [8], [16], [32]]>
func.func @more_than_a_lane_has(%p: tensor<64x!tile.ptr<f32>, #row>, %m: !tile.smem<1 x 64xf32, #memory>) {
  // expected-error @+1 {{has lanes whose 4 elements do not lie side by side}}
  %t = tile.async_copy %p, %m vector 4 : tensor<64x!tile.ptr<f32>, #row> -> !tile.smem<1 x 64xf32, #memory>
  return
}

// -----

#row = #tile.linear<64, register = [[2]], lane = [[1], [4], [8], [16], [32]], warp = []>
#memory = #tile.shared<64, offset = [[1], [2], [4], [8], [16], [32]]>
func.func @not_side_by_side(%p: tensor<64x!tile.ptr<f32>, #row>, %m: !tile.smem<1 x 64xf32, #memory>) {
  // expected-error @+1 {{has lanes whose 2 elements do not lie side by side}}
  %t = tile.async_copy %p, %m vector 2 : tensor<64x!tile.ptr<f32>, #row> -> !tile.smem<1 x 64xf32, #memory>
  return
}

// -----

#row = #tile.linear<64, register = [[1]], lane = [[2], [4], [8], [16], [32]], warp = []>
#memory = #tile.shared<64, offset = [[1], [2], [4], [8], [16], [32]]>
func.func @two_bytes(%p: tensor<64x!tile.ptr<f16>, #row>, %m: !tile.smem<1 x 64xf16, #memory>) {
  // expected-error @+1 {{copies 4, 8 or 16 bytes, got 1 elements of 'f16'}}
  %t = tile.async_copy %p, %m vector 1 : tensor<64x!tile.ptr<f16>, #row> -> !tile.smem<1 x 64xf16, #memory>
  return
}

// -----

#s = #tile.shared<2x4, offset = [[0, 1], [0, 2], [1, 0]]>
#t = #tile.shared<4x2, offset = [[1, 0], [2, 0], [0, 1]]>
func.func @no_such_dimension(%v: !tile.smem<1 x 2x4xf16, #s>) {
  // expected-error @+1 {{order is not a permutation of the dimensions}}
  %t = tile.smem_trans %v [2, 0] : !tile.smem<1 x 2x4xf16, #s> -> !tile.smem<1 x 4x2xf16, #t>
  return
}
