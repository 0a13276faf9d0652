// RUN: tessera-opt %s -tessera-async-waits -split-input-file -verify-diagnostics

#row = #tile.linear<64, register = [[1]], lane = [[2], [4], [8], [16], [32]], warp = []>
#memory = #tile.shared<64, offset = [[1], [2], [4], [8], [16], [32]]>
!pointers = tensor<64x!tile.ptr<f32>, #row>
!buffer = !tile.smem<1 x 64xf32, #memory>
func.func @nobody_waits(%p: !pointers) {
  %m = tile.smem_alloc : !buffer
  // expected-error @+1 {{is not awaited by any operation}}
  %0 = tile.async_copy %p, %m vector 2 : !pointers -> !buffer
  %a = tile.async_commit %0
  // expected-note @+1 {{what it copies is read here}}
  %x = tile.smem_load %m : !buffer -> tensor<64xf32, #row>
  return
}

// -----

#row = #tile.linear<64, register = [[1]], lane = [[2], [4], [8], [16], [32]], warp = []>
#memory = #tile.shared<64, offset = [[1], [2], [4], [8], [16], [32]]>
!pointers = tensor<64x!tile.ptr<f32>, #row>
!buffers = !tile.smem<2 x 64xf32, #memory>
!buffer = !tile.smem<1 x 64xf32, #memory>
// The next iteration reads it, through a view.
func.func @nobody_waits_in_the_loop(%p: !pointers, %n: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %all = tile.smem_alloc : !buffers
  scf.for %i = %c0 to %n step %c1 : i32 {
    %m = tile.smem_index %all[%i] : !buffers
    // expected-note @+1 {{what it copies is read here}}
    %x = tile.smem_load %m : !buffer -> tensor<64xf32, #row>
    // expected-error @+1 {{is not awaited by any operation}}
    %0 = tile.async_copy %p, %m vector 2 : !pointers -> !buffer
    %a = tile.async_commit %0
  }
  return
}

// -----

#row = #tile.linear<64, register = [[1]], lane = [[2], [4], [8], [16], [32]], warp = []>
#memory = #tile.shared<64, offset = [[1], [2], [4], [8], [16], [32]]>
!pointers = tensor<64x!tile.ptr<f32>, #row>
!buffer = !tile.smem<1 x 64xf32, #memory>
func.func @nobody_commits(%p: !pointers) {
  %m = tile.smem_alloc : !buffer
  // expected-error @+1 {{is not awaited by any operation}}
  %0 = tile.async_copy %p, %m vector 2 : !pointers -> !buffer
  // expected-note @+1 {{what it copies is read here}}
  %x = tile.smem_load %m : !buffer -> tensor<64xf32, #row>
  return
}

// -----

func.func @whose_token(%t: !tile.token) {
  // expected-error @+1 {{waits for an operand that is not a group of copies}}
  tile.async_wait %t
  return
}

// -----

#row = #tile.linear<64, register = [[1]], lane = [[2], [4], [8], [16], [32]], warp = []>
#memory = #tile.shared<64, offset = [[1], [2], [4], [8], [16], [32]]>
!pointers = tensor<64x!tile.ptr<f32>, #row>
!buffer = !tile.smem<1 x 64xf32, #memory>
func.func @waits_for_a_copy(%p: !pointers, %m: !buffer, %e: i1) {
  %0 = scf.if %e -> !tile.token {
    %1 = tile.async_copy %p, %m vector 2 : !pointers -> !buffer
    scf.yield %1 : !tile.token
  } else {
    %1 = tile.async_done
    scf.yield %1 : !tile.token
  }
  // expected-error @+1 {{waits for an operand that is not a group of copies}}
  tile.async_wait %0
  return
}

// -----

#row = #tile.linear<64, register = [[1]], lane = [[2], [4], [8], [16], [32]], warp = []>
#memory = #tile.shared<64, offset = [[1], [2], [4], [8], [16], [32]]>
!pointers = tensor<64x!tile.ptr<f32>, #row>
!buffer = !tile.smem<1 x 64xf32, #memory>
func.func @left_out(%p: !pointers, %m: !buffer) {
  %0 = tile.async_copy %p, %m vector 2 : !pointers -> !buffer
  %1 = tile.async_copy %p, %m vector 2 : !pointers -> !buffer
  // expected-error @+1 {{leaves out a copy that is under way}}
  %a = tile.async_commit %1
  return
}

// -----

#row = #tile.linear<64, register = [[1]], lane = [[2], [4], [8], [16], [32]], warp = []>
#memory = #tile.shared<64, offset = [[1], [2], [4], [8], [16], [32]]>
!pointers = tensor<64x!tile.ptr<f32>, #row>
!buffer = !tile.smem<1 x 64xf32, #memory>
func.func @twice(%p: !pointers, %m: !buffer) {
  %0 = tile.async_copy %p, %m vector 2 : !pointers -> !buffer
  %a = tile.async_commit %0
  // expected-error @+1 {{takes a token that is of no copy of its own}}
  %b = tile.async_commit %0
  return
}

// -----

func.func @of_whom(%t: !tile.token) {
  // expected-error @+1 {{takes a token that is of no copy of its own}}
  %a = tile.async_commit %t
  return
}

// -----

#row = #tile.linear<64, register = [[1]], lane = [[2], [4], [8], [16], [32]], warp = []>
#memory = #tile.shared<64, offset = [[1], [2], [4], [8], [16], [32]]>
!pointers = tensor<64x!tile.ptr<f32>, #row>
!buffer = !tile.smem<1 x 64xf32, #memory>
// What the last iteration copied is in the group of this one.
func.func @left_by_an_iteration(%p: !pointers, %m: !buffer, %n: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  scf.for %i = %c0 to %n step %c1 : i32 {
    %0 = tile.async_copy %p, %m vector 2 : !pointers -> !buffer
    // expected-error @+1 {{leaves out a copy that is under way}}
    %a = tile.async_commit %0
    %1 = tile.async_copy %p, %m vector 2 : !pointers -> !buffer
  }
  return
}
