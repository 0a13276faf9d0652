// dialect/tile/td/SharedOps.td - tiles in shared memory and asynchronous
// copies.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
//
// Passes create these ops, kernels do not contain them. The pass that creates
// them must also put barriers between writes and reads of shared memory; the
// lowering does not add any.
#ifndef TILE_SHARED_OPS_TD
#define TILE_SHARED_OPS_TD

include "dialect/tile/td/LayoutAttr.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Tile_Token : TileTypeDef<"Token", "token"> {
  let summary = "asynchronous copies that an operation may wait for";
  let description = [{
    That of a copy comes from `tile.async_copy`, that of a group of copies from
    `tile.async_commit`; branches and loops hand tokens on as other values. It
    takes no register.
  }];
}

def Tile_SmemAllocOp : Tile_Op<"smem_alloc", [MemoryEffects<[MemAlloc]>]> {
  let summary = "shared memory for one or more buffers of a tile";
  let description = [{
    ```mlir
    %b = tile.smem_alloc : !tile.smem<2 x 4x8xf16, #tile.shared<4x8, offset = [[0, 1], [0, 2], [0, 4], [1, 0], [2, 0]]>>
    ```

    The memory of an operation in a loop contains no data of the previous
    iteration.
  }];
  let results = (outs Tile_Smem:$result);
  let assemblyFormat = "attr-dict `:` type($result)";
}

def Tile_SmemIndexOp : Tile_Op<"smem_index", [Pure]> {
  let summary = "one of the buffers";
  let description = [{
    ```mlir
    // %b: !tile.smem<2 x 4x8xf16, #tile.shared<4x8, offset = [[0, 1], [0, 2], [0, 4], [1, 0], [2, 0]]>>, %i: i32
    %v = tile.smem_index %b[%i] : !tile.smem<2 x 4x8xf16, #tile.shared<4x8, offset = [[0, 1], [0, 2], [0, 4], [1, 0], [2, 0]]>>
    ```
  }];
  let arguments = (ins Tile_Smem:$src, I32:$index);
  let results = (outs Tile_Smem:$result);
  let assemblyFormat = "$src `[` $index `]` attr-dict `:` type($src) custom<OneBuffer>(ref(type($src)), type($result))";
  let hasVerifier = 1;
}

def Tile_SmemTransOp : Tile_Op<"smem_trans", [Pure]> {
  let summary = "the same memory with permuted dimensions";
  let description = [{
    ```mlir
    // %v: !tile.smem<1 x 2x4xf16, #tile.shared<2x4, offset = [[0, 1], [0, 2], [1, 0]]>>
    %t = tile.smem_trans %v [1, 0] : !tile.smem<1 x 2x4xf16, #tile.shared<2x4, offset = [[0, 1], [0, 2], [1, 0]]>> -> !tile.smem<1 x 4x2xf16, #tile.shared<4x2, offset = [[1, 0], [2, 0], [0, 1]]>>
    ```
  }];
  let arguments = (ins Tile_Smem:$src, DenseI32ArrayAttr:$order);
  let results = (outs Tile_Smem:$result);
  let assemblyFormat = "$src $order attr-dict `:` type($src) `->` type($result)";
  let hasVerifier = 1;
}

def Tile_SmemLoadOp : Tile_Op<"smem_load", [MemoryEffects<[MemRead]>]> {
  let summary = "a tile from shared memory to registers";
  let description = [{
    ```mlir
    // %v: !tile.smem<1 x 4x8xf16, #tile.shared<4x8, offset = [[0, 1], [0, 2], [0, 4], [1, 0], [2, 0]]>>
    %x = tile.smem_load %v : !tile.smem<1 x 4x8xf16, #tile.shared<4x8, offset = [[0, 1], [0, 2], [0, 4], [1, 0], [2, 0]]>> -> tensor<4x8xf16, #tile.linear<4x8, register = [], lane = [[0, 1], [0, 2], [0, 4], [1, 0], [2, 0]], warp = []>>
    ```
  }];
  let arguments = (ins Tile_Smem:$src);
  let results = (outs Tile_Tensor:$result);
  let assemblyFormat = "$src attr-dict `:` type($src) `->` type($result)";
  let hasVerifier = 1;
}

def Tile_SmemStoreOp : Tile_Op<"smem_store", [MemoryEffects<[MemWrite]>]> {
  let summary = "a tile from registers to shared memory";
  let description = [{
    ```mlir
    // %v: !tile.smem<1 x 4x8xf16, #tile.shared<4x8, offset = [[0, 1], [0, 2], [0, 4], [1, 0], [2, 0]]>>, %x: tensor<4x8xf16, #tile.linear<4x8, register = [], lane = [[0, 1], [0, 2], [0, 4], [1, 0], [2, 0]], warp = []>>
    tile.smem_store %x, %v : tensor<4x8xf16, #tile.linear<4x8, register = [], lane = [[0, 1], [0, 2], [0, 4], [1, 0], [2, 0]], warp = []>> -> !tile.smem<1 x 4x8xf16, #tile.shared<4x8, offset = [[0, 1], [0, 2], [0, 4], [1, 0], [2, 0]]>>
    ```
  }];
  let arguments = (ins Tile_Tensor:$value, Tile_Smem:$dst);
  let assemblyFormat = "$value `,` $dst attr-dict `:` type($value) `->` type($dst)";
  let hasVerifier = 1;
}

def Tile_AsyncCopyOp : Tile_Op<"async_copy", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "starts copying a tile from global to shared memory";
  let description = [{
    Where the mask is false, zeros are written. `vector` neighbouring elements
    of a lane (its lowest register bits) lie side by side in global and in
    shared memory and share a mask: 4, 8 or 16 bytes in all (PTX ISA,
    "cp.async").

    ```mlir
    // %v: !tile.smem<1 x 64xf32, #tile.shared<64, offset = [[1], [2], [4], [8], [16], [32]]>>, %p: tensor<64x!tile.ptr<f32>, #tile.linear<64, register = [[1]], lane = [[2], [4], [8], [16], [32]], warp = []>>
    %t = tile.async_copy %p, %v vector 2 : tensor<64x!tile.ptr<f32>, #tile.linear<64, register = [[1]], lane = [[2], [4], [8], [16], [32]], warp = []>> -> !tile.smem<1 x 64xf32, #tile.shared<64, offset = [[1], [2], [4], [8], [16], [32]]>>
    ```
  }];
  let arguments = (ins RankedTensorOf<[Tile_Ptr]>:$ptr, Tile_Smem:$dst,
                       Optional<RankedTensorOf<[I1]>>:$mask, I64Attr:$vector);
  let results = (outs Tile_Token:$token);
  let builders = [OpBuilder<(ins "::mlir::Value":$ptr, "::mlir::Value":$dst, "::mlir::Value":$mask, "uint64_t":$vector),
                            [{ build($_builder, $_state, $_builder.getType<::tessera::tile::TokenType>(), ptr, dst, mask, vector); }]>];
  let assemblyFormat = [{
    $ptr `,` $dst (`mask` $mask^)? `vector` $vector attr-dict
    `:` type($ptr) custom<MaskType>(ref(type($ptr)), ref($mask), type($mask)) `->` type($dst)
  }];
  let hasVerifier = 1;
}

def Tile_AsyncDoneOp : Tile_Op<"async_done", [Pure]> {
  let summary = "the token of no copy at all";
  let description = [{
    What a branch that starts no copy gives instead of one.

    ```mlir
    %t = tile.async_done
    ```
  }];
  let results = (outs Tile_Token:$token);
  let builders = [OpBuilder<(ins), [{ build($_builder, $_state, $_builder.getType<::tessera::tile::TokenType>()); }]>];
  let assemblyFormat = "attr-dict";
}

def Tile_AsyncCommitOp : Tile_Op<"async_commit", [MemoryEffects<[MemWrite]>]> {
  let summary = "makes a group of the copies that this thread has started";
  let description = [{
    All that are in no group yet, and no others: `tessera-async-waits` refuses a
    commit that leaves one out or takes one of another group.

    ```mlir
    // %t: !tile.token
    %g = tile.async_commit %t
    ```
  }];
  let arguments = (ins Variadic<Tile_Token>:$copies);
  let results = (outs Tile_Token:$group);
  let builders = [OpBuilder<(ins "::mlir::ValueRange":$copies), [{ build($_builder, $_state, $_builder.getType<::tessera::tile::TokenType>(), copies); }]>];
  let assemblyFormat = "$copies attr-dict";
  let hasVerifier = 1;
}

def Tile_AsyncWaitOp : Tile_Op<"async_wait", [MemoryEffects<[MemWrite]>]> {
  let summary = "until these groups of this thread's copies have landed";
  let description = [{
    Other threads see the data after a barrier. The hardware waits until at most
    so many groups are under way, of which the youngest are the last to land:
    `tessera-async-waits` derives the number, `leaving`, from the tokens.

    ```mlir
    // %g: !tile.token
    tile.async_wait %g leaving 1
    ```
  }];
  let arguments = (ins Variadic<Tile_Token>:$groups, OptionalAttr<I64Attr>:$leaving);
  let builders = [OpBuilder<(ins "::mlir::ValueRange":$groups),
                            [{ build($_builder, $_state, groups, ::mlir::IntegerAttr()); }]>];
  let assemblyFormat = "$groups (`leaving` $leaving^)? attr-dict";
  let hasVerifier = 1;
}

def Tile_BarrierOp : Tile_Op<"barrier", [MemoryEffects<[MemWrite, MemRead]>]> {
  let summary = "all threads of the block arrive before any continues";
  let description = [{
    With `scratch` it belongs to the next operation, which has a place for
    scratch in shared memory: the barrier is emitted where that one first writes
    there, after what it computes in registers alone.

    ```mlir
    tile.barrier
    ```
  }];
  let arguments = (ins UnitAttr:$scratch);
  let assemblyFormat = "(`scratch` $scratch^)? attr-dict";
  let hasVerifier = 1;
}

#endif // TILE_SHARED_OPS_TD
