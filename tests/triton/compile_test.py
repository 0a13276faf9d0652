# tests/triton/compile_test.py - every instance of every kernel file passes real Triton's front end, down to PTX where asked.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
"""The interpreter is more tolerant than the compiler (types of loop-carried values, shapes, promotions). No GPU is needed:
the target is named. With COMPILE_TO=ptx Triton goes all the way, including ptxas; pytest -rP shows registers and shared memory."""
import collections
import importlib.util
import os
import re
import subprocess
import sys

import pytest
import triton
from instances import instances_of, is_type, kernel_files, kernels_of
from pattern_kernels import VISIBILITY, gradient_kernel, visibility_kernel
from repository import pattern_files, ROOT
from triton._C.libtriton import ir
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource
from triton.compiler.compiler import make_backend

sys.path.append(str(ROOT))  # where kernel files import from
FILES = kernel_files()
PATTERNS = pattern_files()
TARGET = GPUTarget("cuda", 80, 32)


def source(fn, given):
    constexprs, attrs = {}, {}
    given = dict(given)

    def take(name, way):
        if name not in given:  # a tuple: its values are q.ptr, q.token
            fields = list(dict.fromkeys(leaf[len(name) + 1:].split(".")[0] for leaf in given if leaf.startswith(name + ".")))
            return collections.namedtuple("Tuple", fields)(*[take(f"{name}.{field}", (*way, i)) for i, field in enumerate(fields)])
        value = given.pop(name)
        if not is_type(value):
            constexprs[way] = value
            return "constexpr"
        kind, _, divisible = value.partition(":")
        if divisible:
            attrs[way] = [["tt.divisibility", 16]]
        return kind

    signature = {name: take(name, (i,)) for i, name in enumerate(fn.arg_names)}
    if given:
        raise ValueError(f"no such argument: {', '.join(given)}")
    return ASTSource(fn, signature, constexprs, attrs)


def compile_to_ptx(name, src):
    done = triton.compile(src, target=TARGET, options={"num_warps": 4, "num_stages": 2})
    registers = re.search(r"\.reg \.b32 \t%r<(\d+)>", done.asm["ptx"])
    print(f"{name:40s} shared {done.metadata.shared:7d}  virtual b32 {registers.group(1) if registers else '-'}")


def make_ir(src):
    backend = make_backend(TARGET)
    options, context = backend.parse_options({}), ir.context()
    ir.load_dialects(context)
    backend.load_dialects(context)
    src.make_ir(TARGET, options, backend.get_codegen_implementation(options), backend.get_module_map(), context)


def test_files():
    assert len(FILES) > 20


def check_instances(path, kernels):
    """Gives every instance of the kernels of a file to Triton's front end."""
    instances = instances_of(path)
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    for kernel in kernels:
        assert instances.get(kernel), f"{kernel} has no instance"
        fn = getattr(module, kernel)
        while not isinstance(fn, triton.JITFunction):
            fn = fn.fn
        for name, arguments in instances[kernel].items():
            if os.environ.get("COMPILE_TO") == "ptx":
                compile_to_ptx(name, source(fn, arguments))
            else:
                make_ir(source(fn, arguments))


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_instances(path):
    # References are compared by `tessera check`.
    check_instances(path, [f.name for f in kernels_of(path, ROOT) if not f.name.endswith("_ref")])


@pytest.mark.parametrize("path", PATTERNS, ids=lambda path: path.stem)
def test_instances_of_a_pattern(path, tmp_path):
    printed = tmp_path / path.name
    command = [os.environ["PROGRAM"], "compile", path, "--emit", "pattern"]
    printed.write_text(subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout)
    check_instances(printed, [path.stem, path.stem + "_bwd_dq", path.stem + "_bwd_dkdv", path.stem + "_bwd"])


@pytest.mark.parametrize("name", VISIBILITY)
def test_derived_visibility(name):
    fn = visibility_kernel(name)[-1].probe
    for values in VISIBILITY[name]:
        make_ir(source(fn, {"TILES": "*i32", "OUT": "*i32", "length": "i32", "prefix": "i32", **values}))


@pytest.mark.parametrize("name, function, values", (("softcap", "modify_grad", {"cap": 3.0}), ("alibi", "modify_grad", {}),
                                                    ("alibi", "modify_grad_slope", {}), ("piecewise", "modify_grad", {"cap": 3.0}),
                                                    ("piecewise", "modify_grad", {"cap": 0.0})))
def test_derived_gradient(name, function, values):
    make_ir(source(gradient_kernel(name, function, values)[-1].slopes, {"S": "*fp32", "OUT": "*fp32", "slope": "fp32", **values}))
