// dialect/tile/td/LayoutAttr.td - layouts in registers and in shared memory.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#ifndef TILE_LAYOUT_ATTR_TD
#define TILE_LAYOUT_ATTR_TD

include "dialect/tile/td/TileBase.td"
include "mlir/IR/TensorEncoding.td"

def Tile_LinearAttr : AttrDef<TileDialect, "Linear", [DeclareAttrInterfaceMethods<VerifiableTensorEncoding>]> {
  let mnemonic = "linear";
  let summary = "linear map from registers, lanes and warps to elements";
  let description = [{
    The encoding of a tensor type. Each list has one coordinate tuple for every
    bit of the register, lane or warp number; the element at a place is the XOR
    of the tuples of the bits that are set (docs/compiler/layouts.md). A tuple
    of zeros says that the bit makes copies.

    ```mlir
    // %x: tensor<16x8xf32>
    #acc = #tile.linear<16x8, register = [[0, 1], [8, 0]],
                        lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = []>
    ```
  }];
  // Bases are flat words, as in layout::LinearLayout: all coordinates of a
  // basis in one word, with the first axis in the lowest bits.
  let parameters = (ins ArrayRefParameter<"int64_t">:$shape,
                        ArrayRefParameter<"uint64_t">:$registers,
                        ArrayRefParameter<"uint64_t">:$lanes,
                        ArrayRefParameter<"uint64_t">:$warps);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// Returns the attribute for a map whose ins are among register, lane, warp
    /// and whose outs are dim0, dim1, ... in order.
    static LinearAttr get(::mlir::MLIRContext *context,
                          const ::tessera::layout::LinearLayout &layout);
    /// Returns the map, whose ins are register, lane and warp in this order.
    ::tessera::layout::LinearLayout layout() const;
  }];
}

def Tile_SharedAttr : AttrDef<TileDialect, "Shared"> {
  let mnemonic = "shared";
  let summary = "linear map from offsets in shared memory to elements";
  let description = [{
    One coordinate tuple for every bit of the offset, counted in elements; the
    map is invertible.

    ```mlir
    #rows = #tile.shared<4x8, offset = [[0, 1], [0, 2], [0, 4], [1, 0], [2, 0]]>
    ```
  }];
  let parameters = (ins ArrayRefParameter<"int64_t">:$shape,
                        ArrayRefParameter<"uint64_t">:$offsets);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// Returns the attribute for a map whose only input dim is offset.
    static SharedAttr get(::mlir::MLIRContext *context,
                          const ::tessera::layout::LinearLayout &layout);
    ::tessera::layout::LinearLayout layout() const;
  }];
}

def Tile_Smem : TileTypeDef<"Smem", "smem"> {
  let summary = "tiles in shared memory";
  let description = [{
    `!tile.smem<3 x 64x32xf16, #rows>`: three buffers, each of which holds a
    tile of 64 x 32 as the layout says.
  }];
  let parameters = (ins "int64_t":$buffers, ArrayRefParameter<"int64_t">:$shape,
                        "::mlir::Type":$element, "::tessera::tile::SharedAttr":$layout);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    int64_t getBytesPerBuffer() const;
    SmemType withBuffers(int64_t buffers) const {
      return get(getContext(), buffers, getShape(), getElement(), getLayout());
    }
    int64_t getBytes() const { return getBuffers() * getBytesPerBuffer(); }
  }];
}

#endif // TILE_LAYOUT_ATTR_TD
