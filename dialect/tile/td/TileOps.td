// dialect/tile/td/TileOps.td - all op families together.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
include "dialect/tile/td/ProgramOps.td"
include "dialect/tile/td/ShapeOps.td"
include "dialect/tile/td/MemoryOps.td"
include "dialect/tile/td/DotOps.td"
include "dialect/tile/td/ReduceOps.td"
include "dialect/tile/td/CombineOps.td"
include "dialect/tile/td/CastOps.td"
include "dialect/tile/td/DebugOps.td"
include "dialect/tile/td/LayoutAttr.td"
include "dialect/tile/td/LayoutOps.td"
include "dialect/tile/td/SharedOps.td"
