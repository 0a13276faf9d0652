# tools/gpucheck/add_triton.py - adds Triton's code to packed cases, to compare its times with ours.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
"""add_triton.py FOLDER [--target sm_90] [--only NAME] [--ptx]

Triton compiles the same kernel text with the same arguments, constexprs, warps, stages and precision of fp32 dots, here or on
the machine with the GPU: no GPU is needed. tessera-gpu-check runs and times that cubin as it does ours, so no time
includes Python. Without Triton the script reports that and leaves the folder unchanged."""
import argparse
import hashlib
import importlib.util
import json
import os
import pathlib
import sys
import tempfile
import time
import zlib

os.environ.setdefault("TRITON_CACHE_DIR", tempfile.mkdtemp(prefix="tessera-gpucheck-"))
DTYPES = dict(i1="int1", i8="int8", i16="int16", i32="int32", i64="int64", u8="uint8", fp16="float16", bf16="bfloat16",
              fp32="float32", fp64="float64")


def function_of(folder, case):
    """The jit function; decorators around it are undone."""
    name = f"case_{folder.name}".replace("-", "_").replace(".", "_")
    spec = importlib.util.spec_from_file_location(name, folder / case["kernel_file"])
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    function = getattr(module, case["kernel"])
    while type(function).__name__ in ("Autotuner", "Heuristics"):
        function = function.fn
    return function


def constant(value, language):
    """The dtype of Triton that a text names, or the value itself."""
    if isinstance(value, str):
        word = value.rsplit(".", 1)[-1]
        return getattr(language, DTYPES.get(word, word), value)
    return value


def specialize(function, case, language):
    """Signature, constexprs, attributes, and the parameters that are left, by Triton's rules. Memory is 16-byte aligned."""
    arguments = {argument["name"]: argument for argument in case["args"]}
    signature, constants, attributes, parameters = {}, {}, {}, []
    skip = getattr(function, "do_not_specialize", None) or []

    def type_of(name, way, free, constexpr, default):
        argument = arguments.get(name)
        if argument is None or constexpr:
            constants[way] = constant(case["constexprs"].get(name, argument and argument.get("value")), language)
            if name not in case["constexprs"] and argument is None:
                constants[way] = default
            return "constexpr"
        if argument["kind"] == "pointer":
            found = kind = "*" + argument["dtype"]
            attributes[way] = [["tt.divisibility", 16]]
        elif argument["kind"] == "float":
            found = kind = "fp32"
        else:
            value = argument["value"]
            if value == 1 and not isinstance(value, bool) and not free:
                constants[way] = 1
                return "constexpr"
            kind = "i1" if isinstance(value, bool) else "i32" if -2 ** 31 <= value < 2 ** 31 else "i64"
            found = "u1" if kind == "i1" else kind
            if kind != "i1" and value % 16 == 0 and not free:
                attributes[way] = [["tt.divisibility", 16]]
        parameters.append(dict(name=name, kind="pointer" if kind[0] == "*" else "scalar", type=kind))
        return found

    for i, parameter in enumerate(function.params):
        name, annotation = parameter.name, function.fn.__annotations__.get(parameter.name)
        if hasattr(annotation, "_fields"):  # a named tuple with the values q.ptr, q.token
            signature[name] = annotation(*[type_of(f"{name}.{field}", (i, at), False, False, None)
                                           for at, field in enumerate(annotation._fields)])
        else:
            signature[name] = type_of(name, (i,), name in skip or i in skip, parameter.is_constexpr, parameter.default)
    return signature, constants, attributes, parameters


def write_blob(folder, data):
    """Returns the blob's name; replay/packed/PackedTensors.h describes blobs."""
    name = hashlib.sha256(data).hexdigest()[:32]
    blob = folder.parent / "blobs" / name
    if not blob.exists():
        blob.write_bytes(zlib.compress(data, 9))
    return name


def entry_parameters(ptx, symbol):
    """How many parameters the entry takes: Triton appends pointers to scratch memory."""
    text = ptx[ptx.index(f".entry {symbol}("):]
    return text[:text.index(")")].count(".param")


def add(folder, target, triton, with_ptx):
    from triton.backends.compiler import GPUTarget
    case = json.loads((folder / "case.json").read_text())
    index = json.loads((folder / "gpu.json").read_text())
    function = function_of(folder, case)
    signature, constants, attributes, parameters = specialize(function, case, triton.language)
    os.environ["TRITON_F32_DEFAULT"] = "tf32" if index.get("tf32") else "ieee"
    options = {key: case[key] for key in ("num_warps", "num_stages") if case.get(key)}
    source = triton.compiler.ASTSource(function, signature, constants, attributes)
    done = triton.compile(source, target=GPUTarget("cuda", int(target[3:]), 32), options=options)
    data = done.metadata
    appended = entry_parameters(done.asm["ptx"], data.name) - len(parameters)
    if appended < 0:
        raise RuntimeError(f"the entry takes {-appended} parameters less than the launch has")
    # The contents of such scratch memory and the cluster launch are unknown here.
    if getattr(data, "global_scratch_size", 0) or getattr(data, "profile_scratch_size", 0) or any(
            size != 1 for size in getattr(data, "cluster_dims", (1, 1, 1))):
        raise RuntimeError("it wants scratch memory or clusters")
    code = dict(cubin=write_blob(folder, done.asm["cubin"]))
    if with_ptx:
        code.update(ptx=write_blob(folder, done.asm["ptx"].encode()))
    index["targets"][target]["peer"] = dict(
        code, compiler=f"Triton {triton.__version__}", appended=appended,
        meta=dict(symbol=data.name, params=parameters, scratch_bytes=0, threads=32 * data.num_warps,
                  shared_bytes=data.shared))
    temporary = folder / "gpu.json.new"
    temporary.write_text(json.dumps(index, indent=1) + "\n")
    temporary.replace(folder / "gpu.json")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--target", help="only this packed target")
    parser.add_argument("--only", default="", help="cases with this text in their names")
    parser.add_argument("--ptx", action="store_true", help="also its PTX, for GPUs newer than the target, and the simulator")
    options = parser.parse_args()
    try:
        import triton
    except ImportError as error:
        print(f"Triton's code is not added: {error}")
        return 0
    begin, failed = time.time(), []
    folders = sorted(path.parent for path in options.folder.glob("*/gpu.json") if options.only in path.parent.name)
    for number, folder in enumerate(folders, 1):
        for target in json.loads((folder / "gpu.json").read_text())["targets"]:
            if options.target not in (None, target):
                continue
            try:
                add(folder, target, triton, options.ptx)
            except Exception as error:  # a case that Triton rejects has no time of Triton
                failed.append(folder.name)
                print(f"{folder.name} {target}: {type(error).__name__}: {str(error)[:300]}")
        passed = time.time() - begin
        print(f"[{number} of {len(folders)}, about {passed / number * (len(folders) - number):.0f} s left] {folder.name}", flush=True)
    print(f"Triton {triton.__version__}: {len(folders)} cases, {len(failed)} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
