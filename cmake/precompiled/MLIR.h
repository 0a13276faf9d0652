// cmake/precompiled/MLIR.h - MLIR headers, compiled once for compiler, dialect,
// codegen and their tests.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
//
// What most of those sources include. Headers that few need stay out: every
// translation unit instantiates again what a precompiled header leaves open.
#pragma once

#ifndef __clang__
#include "cmake/GccTypeNames.h"
#endif

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/TypeUtilities.h"
#include "mlir/Pass/Pass.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/TypeSwitch.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>
