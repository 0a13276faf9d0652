# tests/cases/sim_test.py - the recorded launches as Triton's PTX on the simulator: tessera replay --ptx.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
"""Exit status 77 means skipped (torch or triton is not installed). Arguments: cases; none means all."""
import importlib.util
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

os.environ["TRITON_F32_DEFAULT"] = "ieee"
HERE = pathlib.Path(__file__).resolve().parent
try:
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource
    from triton.compiler.compiler import make_backend
    from triton._C.libtriton import ir
    import triton.language as tl
except ImportError as error:
    print("skipped:", error)
    sys.exit(77)

TARGET = GPUTarget("cuda", 80, 32)
SKIPPED = {
    "norm_fp64": "the simulator reports a race between two lanes of a warp that store the replicated fp64 tile",
    "while_lock": "Triton writes atom.global.acq_rel.gpu.cas, an order of words that the simulator does not read yet",
}


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


def ptx_of(folder):
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
    options = backend.parse_options({"num_warps": case["num_warps"], "num_stages": case["num_stages"]})
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


def main():
    names = sys.argv[1:] or sorted(path.parent.name for path in HERE.glob("*/case.json"))
    with tempfile.TemporaryDirectory() as temporary:
        for name in names:
            if name in SKIPPED:
                print(f"{name} is left out: {SKIPPED[name]}")
                continue
            folder = pathlib.Path(temporary) / "cases" / name
            shutil.copytree(HERE / name, folder)
            (folder / "kernel.ptx").write_text(ptx_of(folder))
        report = pathlib.Path(temporary) / "report.json"
        result = subprocess.run([os.environ["PROGRAM"], "replay", str(pathlib.Path(temporary) / "cases"), "--device",
                                 "sim:sm_80", "--ptx", "kernel.ptx", "--json", str(report)])
        statuses = {entry["name"]: entry["status"] for entry in json.loads(report.read_text())}
    failed = {name: status for name, status in statuses.items() if status != "ok"}
    print("not ok:", failed or "none")
    sys.exit(0 if result.returncode == 0 and statuses and not failed else 1)


if __name__ == "__main__":
    main()
