// Printing, assertions, assumptions.
// RUN: tessera-lower %s --laid-out --emit=llvm | FileCheck %s

#row = #tile.linear<32, register = [], lane = [[1], [2], [4], [8], [16]], warp = [[0], [0]]>

// A line for each element, of replicas only the first.
// CHECK: c"pid (%u, %u, %u) idx (%u) row fp32[32]: %.9g\0A\00"
// CHECK-LABEL: define {{.*}} @show(
// CHECK: icmp eq i32 {{.*}}, 0
// CHECK: br i1
// CHECK: call i32 @vprintf(
func.func @show(%f: f32) {
  %x = tile.splat %f : f32 -> tensor<32xf32, #row>
  tile.print "row" %x : tensor<32xf32, #row>
  return
}

// A claim that does not hold: message, file, line, kernel.
// CHECK-DAG: c"row out of range\00"
// CHECK-DAG: c"k.py\00"
// CHECK-LABEL: define {{.*}} @claim(
// CHECK: br i1
// CHECK: call void @__assertfail(ptr {{.*}}, ptr {{.*}}, i32 12, ptr {{.*}}, i64 1)
// CHECK-LABEL: declare void @__assertfail
func.func @claim(%c: i1) {
  tile.assert %c, "row out of range" : i1 loc("/somewhere/k.py":12:3)
  return
}

// CHECK-LABEL: define {{.*}} @fact(
// CHECK: call void @llvm.assume(i1
func.func @fact(%c: i1) {
  tile.assume %c : i1
  return
}
