// A block of sm_80 has 166,912 bytes of shared memory: so much fits, a byte more is an error
// at the operation that reaches furthest.
// RUN: split-file %s %t
// RUN: tessera-lower %t/fits.mlir --laid-out --emit=layout --target=sm_80 | FileCheck %s
// RUN: tessera-lower %t/fits.mlir --laid-out --emit=llvm --target=sm_80 > %t/fits.ll
// RUN: not tessera-lower %t/more.mlir --laid-out --emit=llvm --target=sm_80 2>&1 | FileCheck %s --check-prefix=MORE
// RUN: tessera-lower %t/more.mlir --laid-out --emit=layout --target=sm_90 | FileCheck %s --check-prefix=LARGER

// CHECK: tessera.shared_bytes = 166912 : i64
// MORE: more.mlir:7:{{.*}} error: the kernel needs 167936 bytes of shared memory here; a block on sm_80 has 166912
// MORE: use smaller tiles or more warps
// LARGER: tessera.shared_bytes = 167936 : i64

//--- fits.mlir
#row = #tile.linear<256, register = [[128]], lane = [[1], [2], [4], [8], [16]], warp = [[32], [64]]>
#long = #tile.linear<1024, register = [[128], [256], [512]], lane = [[1], [2], [4], [8], [16]], warp = [[32], [64]]>
#memory = #tile.shared<256, offset = [[1], [2], [4], [8], [16], [32], [64], [128]]>
#large = #tile.shared<1024, offset = [[1], [2], [4], [8], [16], [32], [64], [128], [256], [512]]>
func.func @fits(%f: f32, %i: i32) {
  %a = tile.smem_alloc : !tile.smem<40 x 1024xf32, #large>
  %b = tile.smem_alloc : !tile.smem<3 x 256xf32, #memory>
  %of_a = tile.smem_index %a[%i] : !tile.smem<40 x 1024xf32, #large>
  %of_b = tile.smem_index %b[%i] : !tile.smem<3 x 256xf32, #memory>
  %x = tile.splat %f : f32 -> tensor<256xf32, #row>
  %y = tile.splat %f : f32 -> tensor<1024xf32, #long>
  tile.smem_store %y, %of_a : tensor<1024xf32, #long> -> !tile.smem<1 x 1024xf32, #large>
  tile.smem_store %x, %of_b : tensor<256xf32, #row> -> !tile.smem<1 x 256xf32, #memory>
  tile.barrier
  %z = tile.smem_load %of_a : !tile.smem<1 x 1024xf32, #large> -> tensor<1024xf32, #long>
  return
}

//--- more.mlir
#row = #tile.linear<256, register = [[128]], lane = [[1], [2], [4], [8], [16]], warp = [[32], [64]]>
#long = #tile.linear<1024, register = [[128], [256], [512]], lane = [[1], [2], [4], [8], [16]], warp = [[32], [64]]>
#memory = #tile.shared<256, offset = [[1], [2], [4], [8], [16], [32], [64], [128]]>
#large = #tile.shared<1024, offset = [[1], [2], [4], [8], [16], [32], [64], [128], [256], [512]]>
func.func @more(%f: f32, %i: i32) {
  %a = tile.smem_alloc : !tile.smem<40 x 1024xf32, #large>
  %b = tile.smem_alloc : !tile.smem<4 x 256xf32, #memory>
  %of_a = tile.smem_index %a[%i] : !tile.smem<40 x 1024xf32, #large>
  %of_b = tile.smem_index %b[%i] : !tile.smem<4 x 256xf32, #memory>
  %x = tile.splat %f : f32 -> tensor<256xf32, #row>
  %y = tile.splat %f : f32 -> tensor<1024xf32, #long>
  tile.smem_store %y, %of_a : tensor<1024xf32, #long> -> !tile.smem<1 x 1024xf32, #large>
  tile.smem_store %x, %of_b : tensor<256xf32, #row> -> !tile.smem<1 x 256xf32, #memory>
  tile.barrier
  %z = tile.smem_load %of_a : !tile.smem<1 x 1024xf32, #large> -> tensor<1024xf32, #long>
  return
}
