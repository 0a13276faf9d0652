// simulator/machine/Select.h - which function executes a decoded instruction.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
//
// One selector per family; each returns the function (and sets mode, mode2, imm
// when the function needs them), or null for an instruction of another family.
#pragma once

#include "simulator/arith/Mma.h"
#include "simulator/isa/Table.h"
#include "simulator/machine/Program.h"

namespace tessera::sim {

Exec selectInteger(const Match &match, Inst &inst);
Exec selectBits(const Match &match, Inst &inst);
Exec selectFloat(const Match &match, Inst &inst);
Exec selectHalf(const Match &match, Inst &inst);
Exec selectConvert(const Match &match, Inst &inst);
Exec selectCompare(const Match &match, Inst &inst);
Exec selectMove(const Match &match, Inst &inst);
Exec selectMemory(const Match &match, Inst &inst);
// OrderBits of a memory access.
uint8_t orderOf(const Match &match);
Exec selectAtomic(const Match &match, Inst &inst);
Exec selectAsync(const Match &match, Inst &inst);
Exec selectWarp(const Match &match, Inst &inst);
Exec selectTensor(const Match &match, Inst &inst);
// The shape that selectTensor left in an mma.
MmaShape mmaShapeOf(const Inst &inst);

} // namespace tessera::sim
