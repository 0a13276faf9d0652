// RUN: tessera-opt %s -tessera-allow-contraction -tessera-expand-bf16 -convert-vector-to-llvm -tessera-to-llvm -reconcile-unrealized-casts | FileCheck %s

// Products and sums of f32 may be fused, those of f64 not.
// CHECK-LABEL: llvm.func @contract
// CHECK: llvm.fmul {{.*}} {fastmathFlags = #llvm.fastmath<contract>} : vector<8xf32>
// CHECK: llvm.fadd {{.*}} {fastmathFlags = #llvm.fastmath<contract>} : vector<8xf32>
// CHECK: llvm.fmul %{{.*}}, %{{.*}} : f64
func.func @contract(%x: vector<8xf32>, %d: f64) -> (vector<8xf32>, f64) {
  %p = arith.mulf %x, %x : vector<8xf32>
  %s = arith.addf %p, %x : vector<8xf32>
  %e = arith.mulf %d, %d : f64
  return %s, %e : vector<8xf32>, f64
}

// Rounding to bf16 needs no function of the compiler's library.
// CHECK-LABEL: llvm.func @round
// CHECK-NOT: llvm.fptrunc
// CHECK: llvm.lshr
// CHECK-NOT: llvm.fptrunc
// CHECK: llvm.return
func.func @round(%x: vector<8xf32>) -> vector<8xbf16> {
  %y = arith.truncf %x : vector<8xf32> to vector<8xbf16>
  return %y : vector<8xbf16>
}

// CHECK-LABEL: llvm.func @loop
// CHECK: llvm.cond_br
// CHECK-NOT: scf.for
func.func @loop(%p: !llvm.ptr, %n: i64) {
  %c0 = arith.constant 0 : i64
  %c1 = arith.constant 1 : i64
  scf.for %i = %c0 to %n step %c1 : i64 {
    %a = llvm.getelementptr %p[%i] : (!llvm.ptr, i64) -> !llvm.ptr, f32
    %v = llvm.load %a : !llvm.ptr -> f32
    %w = arith.maxnumf %v, %v : f32
    llvm.store %w, %a : f32, !llvm.ptr
  }
  return
}
