// compiler/semantics/builtins/Atomics.cpp - lowers atomic read-modify-write
// operations.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "compiler/semantics/builtins/Words.h"

namespace tessera::semantics {
namespace {

using tile::AtomicKind;

enum class Op { Add, Max, Min, And, Or, Xor, Xchg };

AtomicKind kindFor(BuiltinCall &call, Op op, Element element) {
  bool isFloating = element.isFloat();
  bool isSignedInt = !isFloating && isSigned(element.dtype);
  unsigned bits = bitWidth(element.dtype);
  auto refuse = [&] {
    call.fail(0, DiagnosticId::NotSupported,
              "tl." + call.builtin.name + " does not support " +
                  toString(element),
              isFloating ? "bits are of integers; accumulate in fp32"
                         : "use memory of int32 or int64");
  };
  if (bits < 32 && !(element.dtype == DType::Fp16 && op == Op::Add) &&
      !(element.dtype == DType::Bf16 && op == Op::Add))
    refuse();
  switch (op) {
  case Op::Add:
    return isFloating ? AtomicKind::FAdd : AtomicKind::Add;
  case Op::Max:
    return isFloating    ? AtomicKind::FMax
           : isSignedInt ? AtomicKind::Max
                         : AtomicKind::UMax;
  case Op::Min:
    return isFloating    ? AtomicKind::FMin
           : isSignedInt ? AtomicKind::Min
                         : AtomicKind::UMin;
  case Op::Xchg:
    return AtomicKind::Xchg;
  default:
    if (isFloating)
      refuse();
    return op == Op::And  ? AtomicKind::And
           : op == Op::Or ? AtomicKind::Or
                          : AtomicKind::Xor;
  }
}

// Memory semantics and scope; null if the call does not give them. The defaults
// are acq_rel and gpu.
struct Order {
  tile::MemSemanticAttr sem;
  tile::MemScopeAttr scope;
};

Order orderOf(BuiltinCall &call, size_t index) {
  auto sem = wordAs<tile::MemSemanticAttr>(call, index);
  return {sem, wordAs<tile::MemScopeAttr>(call, index + 1)};
}

// Returns the argument in the element type and shape of the pointers.
Tensor operand(BuiltinCall &call, size_t index, const Tensor &pointers) {
  Tensor value = call.tensor(index);
  if (!pointers.type.isBlock() && value.type.isBlock())
    call.fail(index, DiagnosticId::ShapeMismatch,
              call.what(index) + " is a block, " + toString(value.type) +
                  ", but the pointer is one address");
  value = call.emit.broadcastTo(value, pointers.type.shape);
  return call.emit.cast(value, Element{pointers.type.element.dtype, false});
}

template <Op op>
Value emitAtomic(BuiltinCall &call) {
  Emitter &emit = call.emit;
  Tensor pointers = call.pointer(0);
  Element element{pointers.type.element.dtype, false};
  AtomicKind kind = kindFor(call, op, element);
  Order order = orderOf(call, 3);
  Tensor value = operand(call, 1, pointers);
  mlir::Value mask;
  if (!call.isNone(2)) {
    Tensor given = emit.truth(call.tensor(2));
    if (!pointers.type.isBlock() && given.type.isBlock())
      call.fail(2, DiagnosticId::ShapeMismatch,
                "`mask` is a block, but the pointer is one address");
    mask = emit.broadcastTo(given, pointers.type.shape).handle;
  }
  auto kindAttr = tile::AtomicKindAttr::get(&emit.context(), kind);
  return Tensor{tile::AtomicRMWOp::create(emit.builder, emit.location(),
                                          value.handle.getType(), kindAttr,
                                          pointers.handle, value.handle, mask,
                                          order.sem, order.scope),
                value.type};
}

Value emitCas(BuiltinCall &call) {
  Tensor pointers = call.pointer(0);
  Order order = orderOf(call, 3);
  if (bitWidth(pointers.type.element.dtype) < 16)
    call.fail(0, DiagnosticId::NotSupported,
              "tl.atomic_cas does not support " +
                  toString(Element{pointers.type.element.dtype, false}));
  Tensor expected = operand(call, 1, pointers);
  Tensor desired = operand(call, 2, pointers);
  return Tensor{tile::AtomicCASOp::create(
                    call.emit.builder, call.emit.location(),
                    expected.handle.getType(), pointers.handle, expected.handle,
                    desired.handle, order.sem, order.scope),
                expected.type};
}

} // namespace

void registerAtomics(Registry &registry) {
  const char *signature = "pointer, val, mask=None, sem=None, scope=None";
  registry.addMethod("atomic_add", signature, emitAtomic<Op::Add>);
  registry.addMethod("atomic_max", signature, emitAtomic<Op::Max>);
  registry.addMethod("atomic_min", signature, emitAtomic<Op::Min>);
  registry.addMethod("atomic_and", signature, emitAtomic<Op::And>);
  registry.addMethod("atomic_or", signature, emitAtomic<Op::Or>);
  registry.addMethod("atomic_xor", signature, emitAtomic<Op::Xor>);
  registry.addMethod("atomic_xchg", signature, emitAtomic<Op::Xchg>);
  registry.addMethod("atomic_cas", "pointer, cmp, val, sem=None, scope=None",
                     emitCas);
}

} // namespace tessera::semantics
