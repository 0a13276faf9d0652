// A loop's argument and its result have one layout, whichever of them a use
// decides for. Here the reshape after the inner loop asks for a layout of the
// result; the argument, which only the mask reads, follows.
// RUN: tessera-opt %s -tessera-coalesce=num-warps=2 -tessera-assign-layouts=num-warps=2 | FileCheck %s
// CHECK: scf.while
// CHECK: scf.for {{.*}} iter_args(%{{[^ ]*}} = %{{[^ ]*}}) -> (tensor<4x8xi32, [[L:#[a-z0-9_]+]]>)
// CHECK: tile.reshape %{{[^ ]*}} : tensor<4x8xi32, [[L]]>
func.func @k(%p: !tile.ptr<i32>, %n: i32, %o: i1) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %rows = tile.range 0, 4 : tensor<4xi32>
  %columns = tile.range 0, 8 : tensor<8xi32>
  %column = tile.expand_dims %rows, 1 : tensor<4xi32> -> tensor<4x1xi32>
  %row = tile.expand_dims %columns, 0 : tensor<8xi32> -> tensor<1x8xi32>
  %a = tile.broadcast %column : tensor<4x1xi32> -> tensor<4x8xi32>
  %b = tile.broadcast %row : tensor<1x8xi32> -> tensor<4x8xi32>
  %lanes = tile.range 0, 32 : tensor<32xi32>
  %ps = tile.splat %p : !tile.ptr<i32> -> tensor<32x!tile.ptr<i32>>
  %q = tile.addptr %ps, %lanes : tensor<32x!tile.ptr<i32>>, tensor<32xi32>
  %first = tile.expand_dims %lanes, 1 : tensor<32xi32> -> tensor<32x1xi32>
  %small = arith.trunci %first : tensor<32x1xi32> to tensor<32x1xi8>
  %square = tile.broadcast %small : tensor<32x1xi8> -> tensor<32x32xi8>
  %none = arith.constant dense<0> : tensor<32x32xi32>
  %d = tile.dot %square, %square, %none tf32 : tensor<32x32xi8>, tensor<32x32xi8> -> tensor<32x32xi32>
  %x = tile.reduce max %d, 1 : tensor<32x32xi32> -> tensor<32xi32>
  %p2 = tile.splat %p : !tile.ptr<i32> -> tensor<4x8x!tile.ptr<i32>>
  %q2 = tile.addptr %p2, %a : tensor<4x8x!tile.ptr<i32>>, tensor<4x8xi32>
  %w:3 = scf.while (%i = %n, %y = %x, %z = %b) : (i32, tensor<32xi32>, tensor<4x8xi32>) -> (i32, tensor<32xi32>, tensor<4x8xi32>) {
    %more = arith.cmpi sgt, %i, %c0 : i32
    scf.condition(%more) %i, %y, %z : i32, tensor<32xi32>, tensor<4x8xi32>
  } do {
  ^bb0(%i: i32, %y: tensor<32xi32>, %z: tensor<4x8xi32>):
    %r:2 = scf.if %o -> (tensor<32xi32>, tensor<4x8xi32>) {
      %f = scf.for %k = %c0 to %n step %c1 iter_args(%v = %z) -> (tensor<4x8xi32>) : i32 {
        %m = arith.cmpi eq, %a, %v : tensor<4x8xi32>
        tile.store %q2, %a mask %m : tensor<4x8x!tile.ptr<i32>>, tensor<4x8xi32>
        scf.yield %a : tensor<4x8xi32>
      }
      %g = tile.reshape %f : tensor<4x8xi32> -> tensor<32xi32>
      scf.yield %g, %f : tensor<32xi32>, tensor<4x8xi32>
    } else {
      scf.yield %y, %z : tensor<32xi32>, tensor<4x8xi32>
    }
    %j = arith.subi %i, %c1 : i32
    scf.yield %j, %r#0, %r#1 : i32, tensor<32xi32>, tensor<4x8xi32>
  }
  tile.store %q, %w#1 : tensor<32x!tile.ptr<i32>>, tensor<32xi32>
  return
}
