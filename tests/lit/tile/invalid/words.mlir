// RUN: tessera-opt %s -split-input-file -verify-diagnostics

func.func @sem(%p: !tile.ptr<i32>, %v: i32) {
  // expected-error @+1 {{unknown `sem` "consume", expected one of "acquire" "release" "acq_rel" "relaxed"}}
  %o = tile.atomic_rmw add %p, %v {sem = "consume"} : !tile.ptr<i32>, i32
  return
}

// -----

func.func @scope(%p: !tile.ptr<i32>, %v: i32) {
  // expected-error @+1 {{unknown `scope` "device", expected one of "gpu" "cta" "sys"}}
  %o = tile.atomic_cas %p, %v, %v {scope = "device"} : !tile.ptr<i32>, i32
  return
}

// -----

func.func @cache_of_a_load(%p: !tile.ptr<i32>) {
  // expected-error @+1 {{unknown `cache` ".wt", expected one of ".ca" ".cg" ".cv"}}
  %v = tile.load %p {cache = ".wt"} : !tile.ptr<i32>
  return
}

// -----

func.func @cache_of_a_store(%p: !tile.ptr<i32>, %v: i32) {
  // expected-error @+1 {{unknown `cache` ".ca", expected one of ".wb" ".cg" ".cs" ".wt"}}
  tile.store %p, %v {cache = ".ca"} : !tile.ptr<i32>, i32
  return
}

// -----

func.func @eviction(%p: !tile.ptr<i32>) {
  // expected-error @+1 {{unknown `eviction` "evict_never", expected one of "evict_first" "evict_last"}}
  %v = tile.load %p {eviction = "evict_never"} : !tile.ptr<i32>
  return
}

// -----

func.func @not_a_word(%p: !tile.ptr<i32>) {
  // expected-error @+1 {{unknown `cache` 3 : i64, expected one of}}
  %v = tile.load %p {cache = 3} : !tile.ptr<i32>
  return
}

// -----

// The generic form is checked by the attribute's parser.
func.func @generic(%p: !tile.ptr<i32>, %v: i32) {
  // expected-error @+2 {{failed to parse Tile_MemSemanticAttr parameter}}
  // expected-error @+1 {{expected ::tessera::tile::MemSemantic to be one of: acquire, release, acq_rel, relaxed}}
  %o = "tile.atomic_cas"(%p, %v, %v) <{sem = #tile<mem_semantic consume>}> : (!tile.ptr<i32>, i32, i32) -> i32
  return
}
