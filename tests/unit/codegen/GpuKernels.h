// tests/unit/codegen/GpuKernels.h - small GPU kernels as LLVM IR and PTX.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace tessera::test {

// y[i] = exp2(x[i]) through shared memory, for i < n; lines 5 and 6 of k.py.
// `body` stands for more instructions after %v, of type float.
inline std::string llvmKernel(const std::string &body = "",
                              const std::string &more = "",
                              const std::string &folder = "/some/where") {
  return R"(
@tessera_shared = external addrspace(3) global [0 x i8], align 1024
define ptx_kernel void @axpy(ptr addrspace(1) %x, ptr addrspace(1) %y, i32 %n) #0 !dbg !5 {
  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %s = getelementptr i8, ptr addrspace(3) @tessera_shared, i32 64
  %c = icmp slt i32 %tid, %n, !dbg !8
  br i1 %c, label %a, label %b, !dbg !8
a:
  %p = getelementptr float, ptr addrspace(1) %x, i32 %tid, !dbg !8
  %v = load float, ptr addrspace(1) %p, !dbg !8
)" + body +
         R"(
  store float %v, ptr addrspace(3) %s, !dbg !9
  %q = getelementptr float, ptr addrspace(1) %y, i32 %tid, !dbg !9
  %e = call float @llvm.exp2.f32(float %v), !dbg !9
  store float %e, ptr addrspace(1) %q, !dbg !9
  br label %b, !dbg !9
b:
  ret void, !dbg !9
}
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare float @llvm.exp2.f32(float)
)" + more +
         R"(
attributes #0 = { "nvvm.reqntid"="128" nounwind }
!llvm.dbg.cu = !{!0}
!llvm.module.flags = !{!2}
!0 = distinct !DICompileUnit(language: DW_LANG_C, file: !1, producer: "tessera", isOptimized: true, runtimeVersion: 0, emissionKind: DebugDirectivesOnly)
!1 = !DIFile(filename: ")" +
         folder + R"(/k.py", directory: ")" + folder + R"(")
!2 = !{i32 2, !"Debug Info Version", i32 3}
!5 = distinct !DISubprogram(name: "axpy", linkageName: "axpy", scope: !1, file: !1, line: 3, type: !6, spFlags: DISPFlagDefinition | DISPFlagOptimized, unit: !0)
!6 = !DISubroutineType(types: !7)
!7 = !{}
!8 = !DILocation(line: 5, column: 9, scope: !5)
!9 = !DILocation(line: 6, column: 9, scope: !5)
)";
}

// Two loops, one in the other; the inner one has 2 mma among 7 instructions.
inline const char *const loopsPtx = R"(//
.version 8.7
.target sm_80
.address_size 64
.extern .shared .align 16 .b8 dynamic[];
.visible .func (.param .b32 r) helper(.param .b32 a)
{
	mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%f0, %f1, %f2, %f3}, {%r0, %r1, %r2, %r3}, {%r4, %r5}, {%f0, %f1, %f2, %f3};
	ret;
}
.visible .entry loops(
	.param .u64 loops_param_0,
	.param .u32 loops_param_1
)
.reqntid 64, 2
{
	.reg .pred 	%p<4>;
	.reg .b32 	%r<33>;
	.reg .b64 	%rd<3>;
	.shared .align 4 .b32 fixed[12];
	.loc	1 10 3
	ld.param.b64 	%rd1, [loops_param_0];
	mov.b32 	%r1, 0; /* a comment; with a semicolon */
$L__BB0_1:                              // outer
	.loc	1 11 3
	add.s32 	%r1, %r1, 1; setp.lt.s32 %p1, %r1, 9;
	@%p1 bra 	$L__BB0_3;
$L__BB0_2:                              // inner
	.loc	1 14 3
	// begin inline asm
	cp.async.cg.shared.global [ %r9 + 0 ], [ %rd1 + 0 ], 0x10, %r7;
	// end inline asm
	cp.async.commit_group ;
	cp.async.wait_group 2;
	.loc	2 99 3, function_name $L__info_string0, inlined_at 1 13 7
	{
	.reg .b32 t;
	ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r2, %r3, %r4, %r5}, [%r9];
	}
	.loc	1 15 3
	mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32
		{ %r10, %r11, %r12, %r13 }, { %r2, %r3, %r4, %r5 },
		{ %r6, %r7 }, { %r10, %r11, %r12, %r13 };
	mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 { %r10, %r11, %r12, %r13 }, { %r2, %r3, %r4, %r5 }, { %r6, %r7 }, { %r10, %r11, %r12, %r13 };
	@%p2 bra 	$L__BB0_2;
	.loc	1 16 3
	bra.uni 	$L__BB0_1;
$L__BB0_3:
	.loc	1 18 3
	@!%p3 st.global.v4.b32 	[%rd1], {%r10, %r11, %r12, %r13};
	ld.local.b32 	%r14, [%rd2];
	ret;
}
	.file	1 "/home/me/kernels/loops.py"
	.file	2 "helpers.py"
)";

} // namespace tessera::test
