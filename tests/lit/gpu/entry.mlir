// The kernel function: its block, its parameters, its lines.
// RUN: tessera-lower %s --num-warps=8 | FileCheck %s
// RUN: tessera-lower %s --emit=llvm | FileCheck %s --check-prefix=LLVM
// RUN: tessera-lower %s --num-warps=8 --target=sm_90 | FileCheck %s --check-prefix=NEXT

// One kernel, its own name, nothing hidden: the parameters in order, each of
// its own width, a truth value as a byte; pointers as aligned as they are known
// to be.
// NEXT: .target sm_90
// CHECK: .target sm_80
// CHECK: .extern .shared .align 1024 .b8 tessera_shared[]
// CHECK-LABEL: .entry parameters(
// CHECK-NEXT: .param .u64 .ptr .global .align 16 parameters_param_0,
// CHECK-NEXT: .param .u64 .ptr .global .align 1 parameters_param_1,
// CHECK-NEXT: .param .u32 parameters_param_2,
// CHECK-NEXT: .param .u64 parameters_param_3,
// CHECK-NEXT: .param .u8 parameters_param_4,
// CHECK-NEXT: .param .u16 parameters_param_5,
// CHECK-NEXT: .param .f32 parameters_param_6
// CHECK-NEXT: )
// As many threads as warps; how many blocks there must be is asked of ptxas
// later (RegisterLimit.h).
// CHECK-NEXT: .reqntid 256, 1, 1
// CHECK-NEXT: {
func.func @parameters(%p: !tile.ptr<f32> {tile.divisibility = 16 : i32}, %q: !tile.ptr<f32>, %n: i32, %m: i64, %flag: i1, %h: i16, %f: f32) {
  %r = tile.range 0, 256 : tensor<256xi32>
  %x = tile.splat %f : f32 -> tensor<256xf32>
  %s = tile.reduce sum %x, 0 : tensor<256xf32> -> f32
  %ps = tile.splat %p : !tile.ptr<f32> -> tensor<256x!tile.ptr<f32>>
  %pp = tile.addptr %ps, %r : tensor<256x!tile.ptr<f32>>, tensor<256xi32>
  %v = tile.load %pp : tensor<256x!tile.ptr<f32>>
  %e = tile.reduce sum %v, 0 : tensor<256xf32> -> f32
  scf.if %flag {
    tile.store %q, %e : !tile.ptr<f32>, f32
  }
  return
}

// Files by the last part of their path; a helper's lines are its own, and say
// where it was called.
// CHECK-LABEL: .entry lines(
// CHECK: .loc [[FILE:[0-9]+]] 7 3
// CHECK-NEXT: ld.global
// CHECK: .loc [[FILE]] 9 11
// CHECK-NEXT: .loc [[HELPERS:[0-9]+]] 40 5, function_name $L__info_string0, inlined_at [[FILE]] 9 11
// CHECK-NEXT: add.f32
// CHECK-NEXT: .loc [[HELPERS]] 41 7, function_name $L__info_string0, inlined_at [[FILE]] 9 11
// CHECK-NEXT: mul.f32
// CHECK-DAG: .file [[FILE]] "k.py"
// CHECK-DAG: .file [[HELPERS]] "helpers.py"
// CHECK: $L__info_string0:
// CHECK-NEXT: .b8 115,99,97,108,101,0
// CHECK-NOT: /somewhere
// LLVM-LABEL: define {{.*}} @lines(
// LLVM: fadd {{.*}}!dbg ![[ADD:[0-9]+]]
// LLVM: ![[ADD]] = !DILocation(line: 40, column: 5, scope: !{{[0-9]+}}, inlinedAt: ![[CALL:[0-9]+]])
// LLVM: ![[CALL]] = {{.*}}!DILocation(line: 9, column: 11
func.func @lines(%p: !tile.ptr<f32>) {
  %x = tile.load %p : !tile.ptr<f32> loc("/somewhere/k.py":7:3)
  %y = arith.addf %x, %x : f32 loc(callsite("scale"("/somewhere/helpers.py":40:5) at "/somewhere/k.py":9:11))
  %z = arith.mulf %y, %y : f32 loc(callsite("scale"("/somewhere/helpers.py":41:7) at "/somewhere/k.py":9:11))
  tile.store %p, %z : !tile.ptr<f32>, f32 loc("/somewhere/k.py":12:3)
  return loc("/somewhere/k.py":13:3)
} loc("/somewhere/k.py":5:1)
