# tests/bench/main_loops_test.py - how main loops are found and counted: on listings of this file, on an ELF file made here, by tessera report.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
import collections
import json
import struct
import subprocess
import types

import pytest
from codegen import flash_attention, loop_table, report, sass, torch_library
from codegen.torch_library import LeftOut
from repository import PROGRAM, ROOT


def listing(*kernels):
    """What nvdisasm prints for kernels, given as (name, lines); a line that ends with a colon is a label."""
    lines = []
    for name, code in kernels:
        lines += ["\t.section\t.text.%s,\"ax\",@progbits" % name, "%s:" % name, ".text.%s:" % name]
        lines += [line if line.endswith(":") else "        /*%04x*/                   %s ;" % (16 * i, line) for i, line in enumerate(code)]
    return "\n".join(lines) + "\n"


TENSOR = "HMMA.16816.F32.BF16 R12, R4, R8, R12"
MASKED = [".L_x_1:", TENSOR, TENSOR, "ISETP.GE.AND P2, PT, R1, R2, PT", "FSEL R12, R12, -INF , P2", "ISETP.GE.AND P3, PT, R1, R3, PT",
          "FSEL R13, R13, -INF , P3", "MUFU.EX2 R12, R12", "@P0 BRA `(.L_x_1)"]
PLAIN = [".L_x_2:", "LDSM.16.M88.4 R4, [R20]", TENSOR, TENSOR, "MUFU.EX2 R12, R12", "@P1 BRA `(.L_x_2)"]
END = ["EXIT", ".L_x_9:", "BRA `(.L_x_9)", "NOP"]


def test_classes():
    classes = {"HMMA.16816.F32.BF16": "tensor", "LDSM.16.MT88.4": "ldsm", "LDS.128": "shared", "STS": "shared", "LDGSTS.E.BYPASS.128": "copy",
               "LDG.E": "global", "RED.E.ADD.F32": "global", "STL": "local", "MUFU.EX2": "exp", "FFMA": "fp", "FMNMX": "fp",
               "F2FP.BF16.PACK_AB": "convert", "IADD3": "integer", "IMAD.WIDE": "integer", "LEA.HI.X": "integer", "IMAD.MOV.U32": "move",
               "MOV": "move", "FSEL": "predicate", "FSETP.GEU.AND": "predicate", "ISETP.GT": "predicate", "SHFL.BFLY": "shuffle",
               "BAR.SYNC": "barrier", "LDGDEPBAR": "barrier", "BRA": "control", "S2R": "other"}
    assert {opcode: sass.class_of(opcode) for opcode in classes} == classes
    assert sass.counts_of(["FADD", "FMUL", "BRA"]) == {"fp": 2, "control": 1, "total": 3}
    assert sum(len(opcodes.split()) for opcodes in sass.OPCODES.values()) == len(sass.CLASS_OF), "an opcode has one class"


def test_kernels_by_name():
    text = listing(("first", MASKED + END), ("second", PLAIN + END))
    assert sass.kernels_of(text) == ["first", "second"]
    assert [len(loop["iteration"]) for loop in sass.tensor_loops(text)] == [8]
    assert [len(loop["iteration"]) for loop in sass.tensor_loops(text, "second")] == [5]
    with pytest.raises(ValueError, match="no kernel third: it has first, second"):
        sass.read(text, "third")


def test_an_iteration_copies_and_does_not_mask():
    """The example of ReportTest.cpp: the path around the masks counts, the one around the copies does not."""
    text = listing(("guarded", [".L_x_1:", "@P1 BRA `(.L_x_2)", "IADD3 R2, R2, R3, RZ", "LDGSTS.E.BYPASS.128 [R9], [R2.64]", ".L_x_2:", TENSOR,
                                "@P2 BRA `(.L_x_3)", "FSEL R12, R12, -INF , P3", "FSEL R13, R13, -INF , P4", "FSEL R14, R14, -INF , P5",
                                ".L_x_3:", "MUFU.EX2 R12, R12", "@!P0 BRA `(.L_x_1)", "EXIT"]))
    loop, = sass.tensor_loops(text)
    assert (len(loop["complete"]), len(loop["iteration"])) == (10, 7)
    assert sass.counts_of(loop["iteration"]) == {"tensor": 1, "copy": 1, "exp": 1, "control": 3, "integer": 1, "total": 7}


def test_instructions_by_line():
    """An instruction comes from the line that the listing names last; the path that the iteration does not take is left out."""
    text = listing(("k", [".L_x_1:", "LDSM.16.M88.4 R4, [R20]", TENSOR, TENSOR, "@P2 BRA `(.L_x_3)", "FSEL R12, R12, -INF , P3", ".L_x_3:",
                          "@P0 BRA `(.L_x_1)", "EXIT"]))
    rows = text.splitlines()
    rows.insert(5, '\t//## File "rope.py", line 21')
    rows.insert(7, '\t//## File "masks.py", line 3')
    loop, = sass.tensor_loops("\n".join(rows))
    assert sass.by_line(loop) == {("", 0): {"LDSM": 1}, ("masks.py", 3): {"BRA": 2, "HMMA": 1}, ("rope.py", 21): {"HMMA": 1}}
    lines = flash_attention.lines_of([loop])
    text = (ROOT / "kernels/nn/rope.py").read_text().splitlines()[20].strip()
    assert lines[-1] == dict(file="kernels/nn/rope.py", line=21, text=text, opcodes={"HMMA": 1})
    assert lines[0] == dict(file="", line=0, text="", opcodes={"LDSM": 1})


def test_the_listing_of_a_loop():
    row = dict(kernel="k", head=64, rows=128, keys=32, warps=4, iteration={"total": 5},
               lines=[dict(file="kernels/nn/rope.py", line=21, text="a | b", opcodes={"FADD": 1, "HMMA": 3}),
                      dict(file="", line=0, text="", opcodes={"MOV": 1})])
    assert loop_table.listing([dict(kernel="other"), row]).splitlines() == [
        "`k`, D = 64: an iteration of a warp has 5 instructions for 128 x 32 pairs by 4 warps.", "", "| line | all | instructions | text |",
        "|---|---:|---|---|", "| nn/rope.py:21 | 4 | 3 HMMA, 1 FADD | `a \\| b` |", "| :0 | 1 | 1 MOV |  |"]
    assert loop_table.listing([dict(kernel="other")]) == ""


def test_branches():
    """A branch with a predicate as its operand, and BRA.DIV, may continue with the next instruction; a plain branch does not."""
    loop = [".L_x_1:", TENSOR, "%s", "FADD R1, R1, R2", ".L_x_2:", "@P0 BRA `(.L_x_1)"]
    def complete(branch):
        return len(sass.tensor_loops(listing(("k", [line.replace("%s", branch) for line in loop] + END)))[0]["complete"])
    assert complete("BRA `(.L_x_2)") == 3
    assert complete("BRA UP0, `(.L_x_2)") == complete("BRA.DIV UR4, `(.L_x_2)") == complete("@P1 BRA `(.L_x_2)") == 4
    assert complete("@PT BRA `(.L_x_2)") == 3


def test_an_inner_loop_without_tensor_instructions_hides_its_outer_loop():
    outer = [".L_x_1:", TENSOR, ".L_x_2:", "FADD R1, R1, R2", "@P0 BRA `(.L_x_2)", "@P1 BRA `(.L_x_1)"]
    assert sass.tensor_loops(listing(("nested", outer + END))) == []
    assert sass.main_loop([]) is None


@pytest.mark.parametrize("order", [(MASKED, PLAIN), (PLAIN, MASKED)])
def test_a_masked_copy_is_not_the_main_loop(order):
    loops = sass.tensor_loops(listing(("both", order[0] + order[1] + END)))
    assert len(loops) == 2
    chosen = sass.main_loop(loops)["iteration"]
    assert "LDSM.16.M88.4" in chosen and "FSEL" not in chosen
    # A larger masked copy is not taken either; of two without masks the larger one is.
    assert sass.main_loop([dict(iteration=["HMMA"] * 9 + ["FSEL"]), dict(iteration=["HMMA"]), dict(iteration=["HMMA"] * 2)])["iteration"] == ["HMMA"] * 2


def test_figures_of_a_tile():
    """256 tensor instructions of 2,048 multiply-adds in 4 warps are two products of 128 x 64 pairs with heads of 128."""
    text = listing(("fwd", [".L_x_1:"] + [TENSOR] * 256 + ["LDSM.16.M88.4 R4, [R20]"] * 64 + ["FSETP.GEU.AND P2, PT, R1, -126, PT", "MUFU.EX2 R1, R1",
                                                             "@P0 BRA `(.L_x_1)"] + END))
    found = flash_attention.figures(sass.tensor_loops(text), 2, 128, 128, 64, 4)
    assert (found["other_per_tensor"], found["ldsm_per_tensor"], found["exponent_range"]) == (round(67 / 256, 4), 0.25, 3)
    assert (found["warp_instructions"], found["tensor_instructions"]) == (4 * 323, 1024)
    with pytest.raises(ValueError, match="multiplies 2 times what a tile of 64 x 64 takes"):
        flash_attention.figures(sass.tensor_loops(text), 2, 128, 64, 64, 4)
    with pytest.raises(ValueError, match="no loop with tensor instructions"):
        flash_attention.figures([], 2, 128, 64, 64, 4)
    with pytest.raises(ValueError, match="size of IMMA.16832.S8 is unknown"):
        flash_attention.multiplies(["IMMA.16832.S8"])


def mangled(rows, keys, warps, flags, way="fwd"):
    kernel = {"fwd": "flash_fwd_kernel", "bwd": "flash_bwd_dq_dk_dv_loop_seqk_parallel_kernel"}[way]
    traits = "ILi128ELi%dELi%dELi%dE" % (rows, keys, warps)
    return "_ZN13pytorch_flash%d%sI23Flash_%s_kernel_traits%sLb0ELb0EN7cutlass10bfloat16_tE19Flash_kernel_traits%sS3_EE%sEEvNS_16Flash_%s_paramsE" % (
        len(kernel), kernel, way, traits, traits, "".join("Lb%dE" % flag for flag in flags), way)


def test_template_arguments():
    name = mangled(128, 64, 4, (0, 1, 0, 0, 1, 1, 0, 0))
    assert flash_attention.template_of(name) == flash_attention.wanted("forward", 128, True)
    assert flash_attention.template_of(mangled(64, 128, 8, (0, 0, 0, 0, 1, 1, 0), "bwd")) == flash_attention.wanted("backward", 128, False)
    assert flash_attention.template_of("_ZN13pytorch_flash25flash_bwd_dot_do_o_kernelILb0EEEvi") is None
    others = [mangled(128, 64, 4, (1, 1, 0, 0, 1, 1, 0, 0)), mangled(64, 64, 4, (0, 1, 0, 0, 1, 1, 0, 0)), name]
    assert flash_attention.kernel_of(others, flash_attention.wanted("forward", 128, True)) == name
    with pytest.raises(LeftOut, match="no forward kernel .* head 128, tiles of 128 x 64 and 4 warps, causal; of its 2 kernels: 128 x 64, 4 warps; 64 x 64"):
        flash_attention.kernel_of(others[:2], flash_attention.wanted("forward", 128, True))


def container(*codes):
    """A container with a code of some bytes for each architecture."""
    entries = b"".join(struct.pack("<HHIQIIHHI", 2, 0x101, 32, len(code), 0, 0, 0, 0, architecture) + code for architecture, code in codes)
    return struct.pack(torch_library.CONTAINER, torch_library.MAGIC, 1, 16, len(entries)) + entries


def elf(data, symbols):
    """An ELF file with these bytes in section 1 at the address 0x5000, and symbols (name, information, address); None: no symbol table."""
    names, table = b"\0", b""
    for name, information, address in symbols or []:
        table += struct.pack(torch_library.SYMBOL, len(names), information, 0, 1, address, 0)
        names += name.encode() + b"\0"
    section = lambda kind, address, offset, size, link=0: struct.pack(torch_library.SECTION, 0, kind, 0, address, offset, size, link, 0, 0, 0)
    bodies, at = [data, table, names], 64
    offsets = [at, at + len(data), at + len(data) + len(table)]
    headers = section(0, 0, 0, 0) + section(1, 0x5000, offsets[0], len(data))
    headers += section(torch_library.SYMBOLS, 0, offsets[1], len(table), 3) + section(3, 0, offsets[2], len(names)) if symbols is not None else b""
    head = bytearray(64)
    struct.pack_into("<Q", head, 40, at + sum(map(len, bodies)))
    struct.pack_into("<HH", head, 58, 64, len(headers) // 64)
    return bytes(head) + b"".join(bodies) + headers


FILE = torch_library.FILE_SYMBOL
TWO = container((75, b"first of 75"), (80, b"first of 80")), container((90, b"second of 90"), (80, b"second of 80!"))
SYMBOLS = [("tmp-6_flash_fwd_hdim64_bf16_sm80.compute_120.cudafe1.cpp", FILE, 0), ("other", 1, 0x5000), ("fatbinData", 1, 0x5000),
           ("tmp-6_flash_bwd_hdim64_bf16_sm80.compute_120.cudafe1.cpp", FILE, 0), ("fatbinData", 1, 0x5000 + len(TWO[0]))]


def test_the_container_of_a_source(tmp_path):
    path = tmp_path / "library.so"
    path.write_bytes(elf(b"".join(TWO), SYMBOLS))
    assert torch_library.extract(path, "flash_bwd_hdim64_bf16_sm80") == container((80, b"second of 80!"))
    assert torch_library.extract(path, "flash_fwd_hdim64_bf16_sm80", 75) == container((75, b"first of 75"))
    with pytest.raises(LeftOut, match="has the code for sm_75, sm_80 only, not for sm_90"):
        torch_library.extract(path, "flash_fwd_hdim64_bf16_sm80", 90)
    with pytest.raises(LeftOut, match="has no machine code of flash_fwd_hdim128_bf16_sm80.cu"):
        torch_library.extract(path, "flash_fwd_hdim128_bf16_sm80")
    path.write_bytes(elf(b"".join(TWO), None))
    with pytest.raises(LeftOut, match="has no symbol table"):
        torch_library.extract(path, "flash_fwd_hdim64_bf16_sm80")
    path.write_bytes(elf(b"x" * 64, SYMBOLS))
    with pytest.raises(LeftOut, match="has no container of machine code where its symbol table names one"):
        torch_library.extract(path, "flash_fwd_hdim64_bf16_sm80")


def test_a_torch_without_cuda_is_left_out_with_the_reason(tmp_path, monkeypatch):
    monkeypatch.setattr(torch_library, "package", lambda name: tmp_path)
    record = flash_attention.of_flash_attention("forward", 128, True)
    assert "torch " in record["left_out"] and record["left_out"].endswith("has no lib/libtorch_cuda.so: install a torch wheel for CUDA")
    record.update(source="flash_attention", way="forward", head=128)
    text = "flash_fwd, head 128, causal mask, nvcc: left out: " + record["left_out"]
    assert report.line(record) == text
    summary = report.summary([record], types.SimpleNamespace(options=types.SimpleNamespace(target=["sm_80"])))
    assert summary["left_out"][-1] == text and summary["text"][-1] == text and summary["missed"] == 0
    with pytest.raises(LeftOut, match="no_such_package is not installed"):
        monkeypatch.undo()
        torch_library.package("no_such_package")


def test_a_tool_that_fails_is_a_reason(tmp_path):
    with pytest.raises(LeftOut, match="false ended with 1"):
        torch_library.run("/bin/false", cwd=tmp_path)


def test_the_installed_torch(tmp_path, monkeypatch):
    """The kernel of the library has the products of its tile; a torch without CUDA gives a reason."""
    monkeypatch.setattr(torch_library, "FOLDER", tmp_path)
    record = flash_attention.of_flash_attention("backward", 128, False)
    if "left_out" in record:
        assert "torch" in record["left_out"] or "triton" in record["left_out"]
        return
    assert record["tensor_instructions"] == 5 * 64 * 128 * 128 / 2048
    assert record["loops"] >= 1 and record["iteration"]["total"] > record["iteration"]["tensor"]
    kept = collections.Counter(path.suffix for path in tmp_path.glob("*/*"))
    assert kept == {".sass": 1, ".cubin": 1, ".fatbin": 1}
    monkeypatch.setattr(torch_library, "extract", None)  # a second call reads what is kept
    assert flash_attention.of_flash_attention("backward", 128, False) == record


def test_counts_are_those_of_tessera_report(tmp_path):
    """count_report raises an error if the two counts differ."""
    name = "dense_fwd_d64_f32"
    subprocess.run([PROGRAM, "compile", str(ROOT / "kernels/dense/attn_fwd.py"), "-i", name, "--target", "sm_80", "--emit", "ptx,meta", "-o",
                    str(tmp_path)], check=True, capture_output=True)
    meta = json.loads((tmp_path / (name + ".json")).read_text())
    loops, found = flash_attention.count_report((tmp_path / (name + ".ptx")).read_text(), meta["shared_bytes"], meta["threads"], meta["min_blocks"])
    iterations = [sass.counts_of(loop["iteration"]) for loop in loops]
    tensor = sum(counts["tensor"] for counts in iterations)
    others = sum(counts["total"] for counts in iterations) - tensor
    assert tensor and found["loop_non_tensor_per_tensor"] == pytest.approx(others / tensor, abs=1e-4)
    loops[0]["iteration"].append("FADD")
    with pytest.raises(RuntimeError, match="count different loops"):
        flash_attention.require_same(found["sass"]["loops"], loops)


def row(kernel, compiler, iteration, rows, warps):
    """A record whose loop has these classes."""
    loops = dict(iteration, total=sum(iteration.values()))
    each = warps * flash_attention.PAIRS / (rows * 64)
    return dict(way="backward", head=64, kernel=kernel, compiler=compiler, mask="causal", iteration=loops, other_per_tensor=0.5, ldsm_per_tensor=0.25,
                warp_instructions=each * loops["total"], tensor_instructions=each * iteration["tensor"])


def test_the_table_of_main_loops():
    rows = [row("flash_bwd", "nvcc", dict(tensor=4, ldsm=1, fp=1), 128, 8), row("dense_bwd_dq", "tessera", dict(tensor=3, ldsm=2, fp=5), 64, 4),
            row("dense_bwd_dkdv", "tessera", dict(tensor=4, ldsm=4, control=2), 64, 8),
            dict(way="backward", head=64, kernel="dense_bwd_dq", compiler="triton", mask="causal", left_out="no Triton")]
    lines = loop_table.table(rows).splitlines()
    assert lines[2] == "| FlashAttention 2, causal | 0.50 | 0.25 | 48 | 32 | 8 |  |  |  |  |  | 8 |  |  |  |  |  |  |  |"
    # 8 x (3 + 2 + 5) and 16 x (4 + 4 + 2); the tensor instructions are 24 + 64.
    assert lines[5] == "| both, ours | 1.73 | 0.91 | 240 | 88 | 80 |  |  |  |  |  | 40 |  |  |  |  |  |  | 32 |"
    assert lines[-1] == "`dense_bwd_dq`, Triton: no Triton."
    assert sorted(kind for kinds in loop_table.COLUMNS.values() for kind in kinds) == sorted(sass.CLASSES)
