// dialect/tile/TileOps.td - all op families together.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
include "dialect/tile/ProgramOps.td"
include "dialect/tile/ShapeOps.td"
include "dialect/tile/MemoryOps.td"
include "dialect/tile/DotOps.td"
include "dialect/tile/ReduceOps.td"
include "dialect/tile/CombineOps.td"
include "dialect/tile/CastOps.td"
include "dialect/tile/DebugOps.td"
include "dialect/tile/LayoutAttr.td"
include "dialect/tile/LayoutOps.td"
include "dialect/tile/SharedOps.td"
