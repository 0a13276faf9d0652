// dialect/tile/td/ProgramOps.td - ops on the program's index in the grid.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#ifndef TILE_PROGRAM_OPS_TD
#define TILE_PROGRAM_OPS_TD

include "dialect/tile/td/TileBase.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

class Tile_AxisOp<string mnemonic> : Tile_Op<mnemonic, [Pure]> {
  let arguments = (ins ConfinedAttr<I32Attr, [IntMinValue<0>, IntMaxValue<2>]>:$axis);
  let results = (outs I32:$result);
  let assemblyFormat = "$axis attr-dict `:` type($result)";
}

def Tile_ProgramIdOp : Tile_AxisOp<"program_id"> {
  let summary = "index of this program along a grid axis";
  let description = [{
    0 <= result < `tile.num_programs` of the same axis.

    ```mlir
    %p = tile.program_id 0 : i32
    ```
  }];
}

def Tile_NumProgramsOp : Tile_AxisOp<"num_programs"> {
  let summary = "number of programs along a grid axis";
  let description = [{
    ```mlir
    %n = tile.num_programs 1 : i32
    ```
  }];
}

#endif // TILE_PROGRAM_OPS_TD
