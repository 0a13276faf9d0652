// RUN: tessera-opt %s -tessera-reject-null-bases -split-input-file -verify-diagnostics

// An address that comes from an integer is not a constant null pointer. A null
// pointer may be passed, stored, compared, converted and returned.
llvm.func @callee(!llvm.ptr)
llvm.func @fine(%p: !llvm.ptr, %i: i64, %v: vector<8xi64>, %c: i1) -> i1 {
  %null = llvm.mlir.zero : !llvm.ptr
  %zero = llvm.mlir.constant(0 : i64) : i64
  %mask = llvm.mlir.constant(dense<true> : vector<8xi1>) : vector<8xi1>
  %q = llvm.inttoptr %zero : i64 to !llvm.ptr
  %a = llvm.load %q : !llvm.ptr -> f32
  %many = llvm.inttoptr %v : vector<8xi64> to vector<8x!llvm.ptr>
  %pass = llvm.mlir.undef : vector<8xf32>
  %g = llvm.intr.masked.gather %many, %mask, %pass {alignment = 4 : i32} : (vector<8x!llvm.ptr>, vector<8xi1>, vector<8xf32>) -> vector<8xf32>
  llvm.call @callee(%null) : (!llvm.ptr) -> ()
  llvm.store %null, %p : !llvm.ptr, !llvm.ptr
  %s = llvm.select %c, %p, %q : i1, !llvm.ptr
  llvm.store %a, %s : f32, !llvm.ptr
  %same = llvm.icmp "eq" %p, %null : !llvm.ptr
  %word = llvm.ptrtoint %null : !llvm.ptr to i64
  llvm.store %word, %p : i64, !llvm.ptr
  llvm.br ^next(%null : !llvm.ptr)
^next(%n: !llvm.ptr):
  llvm.store %n, %p : !llvm.ptr, !llvm.ptr
  llvm.return %same : i1
}
llvm.func @gives() -> !llvm.ptr {
  %null = llvm.mlir.zero : !llvm.ptr
  llvm.return %null : !llvm.ptr
}

// -----

llvm.func @load() -> f32 {
  %null = llvm.mlir.zero : !llvm.ptr
  // expected-error @+1 {{internal error: the base address of `llvm.load` is a constant null pointer}}
  %a = llvm.load %null : !llvm.ptr -> f32
  llvm.return %a : f32
}

// -----

llvm.func @store(%a: f32) {
  %null = llvm.mlir.zero : !llvm.ptr
  // expected-error @+1 {{the base address of `llvm.store` is}}
  llvm.store %a, %null : f32, !llvm.ptr
  llvm.return
}

// -----

// Also where nothing accesses the address that is computed.
llvm.func @address(%i: i64) -> !llvm.ptr {
  %null = llvm.mlir.zero : !llvm.ptr
  // expected-error @+1 {{the base address of `llvm.getelementptr` is}}
  %q = llvm.getelementptr %null[%i] : (!llvm.ptr, i64) -> !llvm.ptr, i8
  llvm.return %q : !llvm.ptr
}

// -----

llvm.func @gather(%i: vector<8xi64>, %mask: vector<8xi1>, %pass: vector<8xf32>) -> vector<8xf32> {
  %many = llvm.mlir.zero : vector<8x!llvm.ptr>
  // expected-error @+1 {{the base address of `llvm.intr.masked.gather` is}}
  %g = llvm.intr.masked.gather %many, %mask, %pass {alignment = 4 : i32} : (vector<8x!llvm.ptr>, vector<8xi1>, vector<8xf32>) -> vector<8xf32>
  llvm.return %g : vector<8xf32>
}

// -----

llvm.func @scatter(%x: vector<8xf32>, %mask: vector<8xi1>) {
  %many = llvm.mlir.zero : vector<8x!llvm.ptr>
  // expected-error @+1 {{the base address of `llvm.intr.masked.scatter` is}}
  llvm.intr.masked.scatter %x, %many, %mask {alignment = 4 : i32} : vector<8xf32>, vector<8xi1> into vector<8x!llvm.ptr>
  llvm.return
}

// -----

llvm.func @masked(%x: vector<8xf32>, %mask: vector<8xi1>) -> vector<8xf32> {
  %null = llvm.mlir.zero : !llvm.ptr
  // expected-error @+1 {{the base address of `llvm.intr.masked.load` is}}
  %y = llvm.intr.masked.load %null, %mask, %x {alignment = 4 : i32} : (!llvm.ptr, vector<8xi1>, vector<8xf32>) -> vector<8xf32>
  llvm.return %y : vector<8xf32>
}

// -----

llvm.func @atomics(%x: f32) {
  %null = llvm.mlir.zero : !llvm.ptr
  // expected-error @+1 {{the base address of `llvm.atomicrmw` is}}
  %old = llvm.atomicrmw fadd %null, %x acq_rel : !llvm.ptr, f32
  llvm.return
}

// -----

llvm.func @exchange(%x: i32) {
  %null = llvm.mlir.zero : !llvm.ptr
  // expected-error @+1 {{the base address of `llvm.cmpxchg` is}}
  %pair = llvm.cmpxchg %null, %x, %x acq_rel acquire : !llvm.ptr, i32
  llvm.return
}

// -----

llvm.func @selected(%p: !llvm.ptr, %c: i1) -> f32 {
  %null = llvm.mlir.zero : !llvm.ptr
  %q = llvm.select %c, %p, %null : i1, !llvm.ptr
  // expected-error @+1 {{the base address of `llvm.load` is}}
  %a = llvm.load %q : !llvm.ptr -> f32
  llvm.return %a : f32
}

// -----

// Around a loop: the null pointer comes from outside.
llvm.func @carried(%p: !llvm.ptr, %x: f32, %n: i64) {
  %zero = llvm.mlir.constant(0 : i64) : i64
  %one = llvm.mlir.constant(1 : i64) : i64
  %null = llvm.mlir.zero : !llvm.ptr
  llvm.br ^head(%zero, %null : i64, !llvm.ptr)
^head(%i: i64, %q: !llvm.ptr):
  %more = llvm.icmp "slt" %i, %n : i64
  llvm.cond_br %more, ^body, ^end
^body:
  // expected-error @+1 {{the base address of `llvm.store` is}}
  llvm.store %x, %q : f32, !llvm.ptr
  %j = llvm.add %i, %one : i64
  llvm.br ^head(%j, %p : i64, !llvm.ptr)
^end:
  llvm.return
}

// -----

// A vector of pointers that holds one null pointer.
llvm.func @inserted(%p: vector<8x!llvm.ptr>, %mask: vector<8xi1>, %x: vector<8xf32>) {
  %null = llvm.mlir.zero : !llvm.ptr
  %lane = llvm.mlir.constant(3 : i32) : i32
  %many = llvm.insertelement %null, %p[%lane : i32] : vector<8x!llvm.ptr>
  // expected-error @+1 {{the base address of `llvm.intr.masked.scatter` is}}
  llvm.intr.masked.scatter %x, %many, %mask {alignment = 4 : i32} : vector<8xf32>, vector<8xi1> into vector<8x!llvm.ptr>
  llvm.return
}

// -----

// Through every operation that passes a pointer on.
llvm.func @passed(%p: vector<8x!llvm.ptr>, %i: i64) -> f32 {
  %null = llvm.mlir.zero : vector<8x!llvm.ptr>
  %lane = llvm.mlir.constant(3 : i32) : i32
  %both = llvm.shufflevector %p, %null [0, 1, 2, 3, 8, 9, 10, 11] : vector<8x!llvm.ptr>
  %one = llvm.extractelement %both[%lane : i32] : vector<8x!llvm.ptr>
  %q = llvm.freeze %one : !llvm.ptr
  // expected-error @+1 {{the base address of `llvm.getelementptr` is}}
  %r = llvm.getelementptr %q[%i] : (!llvm.ptr, i64) -> !llvm.ptr, i8
  // expected-error @+1 {{the base address of `llvm.load` is}}
  %a = llvm.load %r : !llvm.ptr -> f32
  llvm.return %a : f32
}

// -----

llvm.func @masked_store(%x: vector<8xf32>, %mask: vector<8xi1>) {
  %null = llvm.mlir.zero : !llvm.ptr
  // expected-error @+1 {{the base address of `llvm.intr.masked.store` is}}
  llvm.intr.masked.store %x, %null, %mask {alignment = 4 : i32} : vector<8xf32>, vector<8xi1> into !llvm.ptr
  llvm.return
}
