// dialect/tile/td/TileBase.td - the dialect, its types and the op base classes.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#ifndef TILE_BASE_TD
#define TILE_BASE_TD

include "mlir/IR/OpBase.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"

def TileDialect : Dialect {
  let name = "tile";
  let cppNamespace = "::tessera::tile";
  let summary = "Tile programs: block values without a layout";
  let description = [{
    A kernel is one `func.func`; each of its instances ("programs") handles one
    tile of the output and is told apart by `tile.program_id`. Values are
    scalars or `tensor`s of static power-of-two shape. Arithmetic is upstream
    `arith` and `math`, control flow is `scf`; this dialect adds what those
    lack: programs, pointers, memory, shape changes, reductions and dots.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect"];
  let hasConstantMaterializer = 1;
  let useDefaultTypePrinterParser = 1;
  let useDefaultAttributePrinterParser = 1;
}

class TileTypeDef<string name, string mnemonic_> : TypeDef<TileDialect, name> {
  let mnemonic = mnemonic_;
}

def Tile_Ptr : TileTypeDef<"Ptr", "ptr"> {
  let summary = "address of an element in global memory";
  let description = [{
    `!tile.ptr<f32>` is a byte address whose element is an `f32`. Pointers of
    `i1` address one byte per element. Arguments of a kernel may alias.
  }];
  let parameters = (ins "::mlir::Type":$pointee);
  let assemblyFormat = "`<` $pointee `>`";
  let builders = [TypeBuilderWithInferredContext<(ins "::mlir::Type":$pointee),
    [{ return $_get(pointee.getContext(), pointee); }]>];
  let genVerifyDecl = 1;
}

class Tile_Op<string mnemonic, list<Trait> traits = []>
    : Op<TileDialect, mnemonic, traits>;

// Classes of element types. A "tile" is a scalar or a ranked tensor of scalars.
def Tile_Int : AnyTypeOf<[I1, I8, I16, I32, I64], "integer">;
def Tile_Float : AnyTypeOf<[F16, BF16, F32, F64], "floating point">;
def Tile_Number : AnyTypeOf<[Tile_Int, Tile_Float], "number">;
def Tile_Element : AnyTypeOf<[Tile_Int, Tile_Float, Tile_Ptr], "number or pointer">;

def Tile_Tensor : RankedTensorOf<[Tile_Element]>;
def Tile_NumberTensor : RankedTensorOf<[Tile_Number]>;
def Tile_IntTensor : RankedTensorOf<[Tile_Int]>;
def Tile_FloatTensor : RankedTensorOf<[Tile_Float]>;

def Tile_AnyValue : AnyTypeOf<[Tile_Element, Tile_Tensor], "scalar or tensor">;
def Tile_NumberValue : AnyTypeOf<[Tile_Number, Tile_NumberTensor], "number or tensor of numbers">;
def Tile_PtrValue : AnyTypeOf<[Tile_Ptr, RankedTensorOf<[Tile_Ptr]>], "pointer or tensor of pointers">;
def Tile_IntValue : AnyTypeOf<[Tile_Int, Tile_IntTensor], "integer or tensor of integers">;
def Tile_MaskValue : AnyTypeOf<[I1, RankedTensorOf<[I1]>], "i1 or tensor of i1">;
def Tile_FloatValue : AnyTypeOf<[Tile_Float, Tile_FloatTensor], "float or tensor of floats">;

#endif // TILE_BASE_TD
