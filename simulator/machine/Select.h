// simulator/machine/Select.h - which function executes a decoded instruction.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
//
// One selector per family; each sets inst.exec (and mode, mode2, imm when the
// function needs them) and returns false for what is not its own.
#pragma once

#include "simulator/arith/Mma.h"
#include "simulator/isa/Table.h"
#include "simulator/machine/Program.h"

namespace tessera::sim {

bool selectInteger(const Match &match, Inst &inst, bool overflow);
bool selectBits(const Match &match, Inst &inst);
bool selectFloat(const Match &match, Inst &inst);
bool selectHalf(const Match &match, Inst &inst);
bool selectConvert(const Match &match, Inst &inst);
bool selectCompare(const Match &match, Inst &inst);
bool selectMove(const Match &match, Inst &inst);
bool selectMemory(const Match &match, Inst &inst);
// OrderBits of a memory access.
uint8_t orderOf(const Match &match);
bool selectAtomic(const Match &match, Inst &inst);
bool selectAsync(const Match &match, Inst &inst);
bool selectWarp(const Match &match, Inst &inst);
bool selectTensor(const Match &match, Inst &inst);
// The shape that selectTensor left in an mma.
MmaShape mmaShapeOf(const Inst &inst);

} // namespace tessera::sim
