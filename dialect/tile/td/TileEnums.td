// dialect/tile/td/TileEnums.td - enumerations used by tile ops.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#ifndef TILE_ENUMS_TD
#define TILE_ENUMS_TD

include "dialect/tile/td/TileBase.td"

class Tile_Enum<string name, string summary, list<I32EnumAttrCase> cases>
    : I32EnumAttr<name, summary, cases> {
  let cppNamespace = "::tessera::tile";
  let genSpecializedAttr = 0;
}

def Tile_ReduceKind : Tile_Enum<"ReduceKind", "how a reduction combines", [
  I32EnumAttrCase<"Sum", 0, "sum">, I32EnumAttrCase<"Max", 1, "max">,
  I32EnumAttrCase<"Min", 2, "min">, I32EnumAttrCase<"ArgMax", 3, "argmax">,
  I32EnumAttrCase<"ArgMin", 4, "argmin">, I32EnumAttrCase<"And", 5, "and">,
  I32EnumAttrCase<"Or", 6, "or">, I32EnumAttrCase<"Xor", 7, "xor">,
  I32EnumAttrCase<"UMax", 8, "umax">, I32EnumAttrCase<"UMin", 9, "umin">]>;
def Tile_ReduceKindAttr : EnumAttr<TileDialect, Tile_ReduceKind, "reduce_kind">;

def Tile_ScanKind : Tile_Enum<"ScanKind", "how a scan combines", [
  I32EnumAttrCase<"Sum", 0, "sum">, I32EnumAttrCase<"Prod", 1, "prod">,
  I32EnumAttrCase<"Max", 2, "max">, I32EnumAttrCase<"Min", 3, "min">]>;
def Tile_ScanKindAttr : EnumAttr<TileDialect, Tile_ScanKind, "scan_kind">;

def Tile_AtomicKind : Tile_Enum<"AtomicKind", "read-modify-write operation", [
  I32EnumAttrCase<"Add", 0, "add">, I32EnumAttrCase<"FAdd", 1, "fadd">,
  I32EnumAttrCase<"Max", 2, "max">, I32EnumAttrCase<"Min", 3, "min">,
  I32EnumAttrCase<"UMax", 4, "umax">, I32EnumAttrCase<"UMin", 5, "umin">,
  I32EnumAttrCase<"And", 6, "and">, I32EnumAttrCase<"Or", 7, "or">,
  I32EnumAttrCase<"Xor", 8, "xor">, I32EnumAttrCase<"Xchg", 9, "xchg">,
  I32EnumAttrCase<"FMax", 10, "fmax">, I32EnumAttrCase<"FMin", 11, "fmin">]>;
def Tile_AtomicKindAttr : EnumAttr<TileDialect, Tile_AtomicKind, "atomic_kind">;

def Tile_Precision : Tile_Enum<"Precision", "how fp32 operands of a dot are read", [
  I32EnumAttrCase<"IEEE", 0, "ieee">, I32EnumAttrCase<"TF32", 1, "tf32">,
  I32EnumAttrCase<"TF32x3", 2, "tf32x3">]>;
def Tile_PrecisionAttr : EnumAttr<TileDialect, Tile_Precision, "precision">;

def Tile_Rounding : Tile_Enum<"Rounding", "rounding of a narrowing conversion", [
  I32EnumAttrCase<"RTNE", 0, "rtne">, I32EnumAttrCase<"RTZ", 1, "rtz">]>;
def Tile_RoundingAttr : EnumAttr<TileDialect, Tile_Rounding, "rounding">;

def Tile_DotInstruction : Tile_Enum<"DotInstruction", "what computes a dot on a GPU", [
  I32EnumAttrCase<"Fma", 0, "fma">,
  I32EnumAttrCase<"MmaM16N8K16", 1, "mma_m16n8k16">, // f16, bf16
  I32EnumAttrCase<"MmaM16N8K8", 2, "mma_m16n8k8">,   // f32 as tf32
  I32EnumAttrCase<"MmaM16N8K32", 3, "mma_m16n8k32">, // i8
  I32EnumAttrCase<"MmaM8N8K4", 4, "mma_m8n8k4">]>;   // f64
def Tile_DotInstructionAttr : EnumAttr<TileDialect, Tile_DotInstruction, "dot_instruction">;

def Tile_FmaReason : Tile_Enum<"FmaReason", "why a dot does not run on tensor cores", [
  I32EnumAttrCase<"IEEE", 0, "ieee">,     // tensor cores lack IEEE f32
  I32EnumAttrCase<"Type", 1, "type">,     // no instruction for the elements
  I32EnumAttrCase<"ShortK", 2, "short_k">, // K is less than the instruction's
  I32EnumAttrCase<"Layout", 3, "layout">]>; // the tensors' layouts do not fit
def Tile_FmaReasonAttr : EnumAttr<TileDialect, Tile_FmaReason, "fma_reason">;

// The qualifiers of Triton's loads, stores and atomics, which are those of PTX.
def Tile_MemSemantic : Tile_Enum<"MemSemantic", "memory order of an atomic", [
  I32EnumAttrCase<"Acquire", 0, "acquire">, I32EnumAttrCase<"Release", 1, "release">,
  I32EnumAttrCase<"AcqRel", 2, "acq_rel">, I32EnumAttrCase<"Relaxed", 3, "relaxed">]>;
def Tile_MemSemanticAttr : EnumAttr<TileDialect, Tile_MemSemantic, "mem_semantic">;

def Tile_MemScope : Tile_Enum<"MemScope", "threads among which an atomic is ordered", [
  I32EnumAttrCase<"Gpu", 0, "gpu">, I32EnumAttrCase<"Cta", 1, "cta">,
  I32EnumAttrCase<"Sys", 2, "sys">]>;
def Tile_MemScopeAttr : EnumAttr<TileDialect, Tile_MemScope, "mem_scope">;

def Tile_LoadCache : Tile_Enum<"LoadCache", "cache modifier of a load", [
  I32EnumAttrCase<"CA", 0, ".ca">, I32EnumAttrCase<"CG", 1, ".cg">,
  I32EnumAttrCase<"CV", 2, ".cv">]>;
def Tile_LoadCacheAttr : EnumAttr<TileDialect, Tile_LoadCache, "load_cache">;

def Tile_StoreCache : Tile_Enum<"StoreCache", "cache modifier of a store", [
  I32EnumAttrCase<"WB", 0, ".wb">, I32EnumAttrCase<"CG", 1, ".cg">,
  I32EnumAttrCase<"CS", 2, ".cs">, I32EnumAttrCase<"WT", 3, ".wt">]>;
def Tile_StoreCacheAttr : EnumAttr<TileDialect, Tile_StoreCache, "store_cache">;

def Tile_Eviction : Tile_Enum<"Eviction", "eviction priority in the L1 cache", [
  I32EnumAttrCase<"EvictFirst", 0, "evict_first">,
  I32EnumAttrCase<"EvictLast", 1, "evict_last">]>;
def Tile_EvictionAttr : EnumAttr<TileDialect, Tile_Eviction, "eviction">;

#endif // TILE_ENUMS_TD
