// --trace prints what a pass decides; other passes print nothing.
// RUN: tessera-opt %s -tessera-allocate-shared -tessera-memory-barriers --trace=tessera-memory-barriers -o %t 2>&1 | FileCheck %s
// RUN: tessera-opt %s -tessera-allocate-shared -tessera-memory-barriers -o %t 2>&1 | FileCheck %s --check-prefix=NONE --allow-empty
// RUN: tessera-lower %s --laid-out --emit=layout --trace=tessera-memory-barriers,tessera-allocate-shared 2>&1 | FileCheck %s --check-prefix=BOTH
// RUN: not tessera-opt %s --trace=tessera-memory-barrier 2>&1 | FileCheck %s --check-prefix=UNKNOWN

#row = #tile.linear<128, register = [], lane = [[1], [2], [4], [8], [16]], warp = [[32], [64]]>

// CHECK-NOT: tessera-allocate-shared
// CHECK: [tessera-memory-barriers {{.*}}] barrier before tile.store at {{.*}} to order it after tile.load at
// CHECK: [tessera-memory-barriers {{.*}}] {{(no )?}}scratch barrier before tile.reduce at
// CHECK-NOT: barrier
// NONE-NOT: {{.}}
// BOTH: [tessera-allocate-shared {{.*}}] tile.reduce at {{.*}}: {{[0-9]+}} bytes from 0, live from
// BOTH: [tessera-memory-barriers {{.*}}] barrier before tile.store
// UNKNOWN: error: --trace: no pass `tessera-memory-barrier`
func.func @indexed(%p: !tile.ptr<f32>, %ip: tensor<128x!tile.ptr<i32>, #row>) {
  %i = tile.load %ip : tensor<128x!tile.ptr<i32>, #row>
  %s = tile.splat %p : !tile.ptr<f32> -> tensor<128x!tile.ptr<f32>, #row>
  %x = tile.addptr %s, %i : tensor<128x!tile.ptr<f32>, #row>, tensor<128xi32, #row>
  %v = tile.load %x : tensor<128x!tile.ptr<f32>, #row>
  tile.store %x, %v : tensor<128x!tile.ptr<f32>, #row>, tensor<128xf32, #row>
  %r = tile.reduce sum %v, 0 : tensor<128xf32, #row> -> f32
  tile.store %p, %r : !tile.ptr<f32>, f32
  return
}
