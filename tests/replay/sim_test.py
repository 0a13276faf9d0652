# tests/replay/sim_test.py - the recorded launches as Triton's PTX on the simulator: tessera replay --ptx.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
import importlib.util
import json
import os
import shutil
import subprocess

import pytest
from repository import PROGRAM, ROOT

os.environ["TRITON_F32_DEFAULT"] = "ieee"  # before Triton is imported
import triton.language as tl  # noqa: E402
from triton._C.libtriton import ir  # noqa: E402
from triton.backends.compiler import GPUTarget  # noqa: E402
from triton.compiler import ASTSource  # noqa: E402
from triton.compiler.compiler import make_backend  # noqa: E402

CASES = ROOT / "tests/replay"
TARGET = GPUTarget("cuda", 80, 32)
# Compiled without contraction. With it Triton makes the first step of the sum over lanes fma(x, x, shuffled(x * x)): the lanes
# that should hold copies of one sum differ in its last bit, all of them store it, and which one stays is left open. That is a
# race on a GPU too, and test_contraction() sees that it is found.
UNFUSED = {"norm_fp64"}


def kernel_of(folder, case):
    spec = importlib.util.spec_from_file_location("kernel_" + folder.name.replace(".", "_").replace("-", "_"),
                                                  folder / case["kernel_file"])
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return getattr(module, case["kernel"])


def constant(value, text):
    """A dtype by its name, unless the kernel compares with the name."""
    known = {"fp16": tl.float16, "bf16": tl.bfloat16, "fp32": tl.float32, "fp64": tl.float64, "int8": tl.int8}
    return known[value] if isinstance(value, str) and value in known and f'"{value}"' not in text else value


def ptx_of(folder, fusion=True):
    case = json.loads((folder / "case.json").read_text())
    fn = kernel_of(folder, case)
    text = (folder / case["kernel_file"]).read_text()
    given = {entry["name"]: entry for entry in case["args"]}
    signature, constants, attributes = {}, {}, {}
    for i, name in enumerate(fn.arg_names):
        entry = given.get(name)
        if entry is None:
            signature[name] = "constexpr"
            constants[(i,)] = constant(case["constexprs"][name], text)
        elif entry["kind"] == "pointer":
            signature[name] = "*" + entry["dtype"]
            attributes[(i,)] = [["tt.divisibility", 16]]
        elif entry["kind"] == "float":
            signature[name] = "fp32"
        elif entry["value"] is not True and entry["value"] == 1:
            signature[name] = "constexpr"
            constants[(i,)] = 1
        else:
            signature[name] = entry["dtype"]
            if entry["dtype"] != "i1" and entry["value"] % 16 == 0:
                attributes[(i,)] = [["tt.divisibility", 16]]
    source = ASTSource(fn, signature, constants, attributes)
    backend = make_backend(TARGET)
    options = backend.parse_options({"num_warps": case["num_warps"], "num_stages": case["num_stages"],
                                     "enable_fp_fusion": fusion})
    context = ir.context()
    ir.load_dialects(context)
    backend.load_dialects(context)
    module = source.make_ir(TARGET, options, backend.get_codegen_implementation(options), backend.get_module_map(),
                            context)
    stages, metadata = {}, {"target": TARGET, **options.__dict__}
    backend.add_stages(stages, options, source.language)
    for stage in ("ttir", "ttgir", "llir", "ptx"):
        module = stages[stage](module, metadata)
    return module


def replay(name, fusion, temporary):
    """(exit status, status, message) of a case with Triton's kernel.ptx."""
    folder, report = temporary / name, temporary / "report.json"
    shutil.copytree(CASES / name, folder)
    (folder / "kernel.ptx").write_text(ptx_of(folder, fusion))
    result = subprocess.run([PROGRAM, "replay", str(folder), "--device", "sim:sm_80", "--ptx", "kernel.ptx", "--json", str(report)])
    entry, = json.loads(report.read_text())
    return result.returncode, entry["status"], entry.get("message", "")


@pytest.mark.parametrize("name", sorted(path.parent.name for path in CASES.glob("*/case.json")))
def test_case(name, tmp_path):
    assert replay(name, name not in UNFUSED, tmp_path)[:2] == (0, "ok")


def test_contraction(tmp_path):
    """The race that contraction makes is found, at the line of the store."""
    code, status, message = replay("norm_fp64", True, tmp_path)
    assert (code, status) == (1, "mismatch")
    assert "shared-race: lanes write different values" in message and "kernel.py:13" in message
