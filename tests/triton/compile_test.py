# tests/triton/compile_test.py - every instance of every kernel file passes real Triton's front end, down to PTX where asked.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
"""The interpreter is more tolerant than the compiler (types of loop-carried values, shapes, promotions). No GPU is needed:
the target is named. `compile_test.py ptx` goes all the way, including ptxas, and prints registers and shared memory."""
import ast
import importlib.util
import os
import pathlib
import re
import sys

try:
    import triton
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource
except ImportError as error:
    print("skipped:", error)
    sys.exit(1 if os.environ.get("TEST_COMPLETE") else 77)

from instances import instances_of, is_type

ROOT = pathlib.Path(__file__).resolve().parents[2] / "kernels"
sys.path.append(str(ROOT.parent))  # where kernel files import from
full = "ptx" in sys.argv[1:]
only = [a for a in sys.argv[1:] if a != "ptx"]
failed = count = 0


def source(fn, given):
    signature, constexprs, attrs = {}, {}, {}
    given = dict(given)
    for i, name in enumerate(fn.arg_names):
        value = given.pop(name)
        if is_type(value):
            kind, _, divisible = value.partition(":")
            signature[name] = kind
            if divisible:
                attrs[(i,)] = [["tt.divisibility", 16]]
        else:
            signature[name] = "constexpr"
            constexprs[(i,)] = value
    if given:
        raise ValueError(f"no such argument: {', '.join(given)}")
    return ASTSource(fn, signature, constexprs, attrs)


for path in sorted(ROOT.glob("*/*.py")):
    if only and not any(o in str(path) for o in only):
        continue
    text = path.read_text()
    instances = instances_of(path)
    tree = ast.parse(text)
    # Helpers are called, or given to a scan, and compiled with their callers; references are compared by `tessera check`.
    calls = [n for n in ast.walk(tree) if isinstance(n, ast.Call)]
    called = {x.id for n in calls for x in (n.func, *n.args) if isinstance(x, ast.Name)}
    kernels = [f.name for f in tree.body
               if isinstance(f, ast.FunctionDef) and f.name not in called and not f.name.endswith("_ref")]
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    for kernel in kernels:
        mine = instances.get(kernel)
        if not mine:
            failed += 1
            print(f"FAILED {path.relative_to(ROOT)}: {kernel} has no instance")
        fn = getattr(module, kernel)
        while not isinstance(fn, triton.JITFunction):
            fn = fn.fn
        for name, arguments in (mine or {}).items():
            count += 1
            try:
                src, target = source(fn, arguments), GPUTarget("cuda", 80, 32)
                if full:
                    done = triton.compile(src, target=target, options={"num_warps": 4, "num_stages": 2})
                    spill = re.search(r"\.reg \.b32 \t%r<(\d+)>", done.asm["ptx"])
                    print(f"{name:40s} shared {done.metadata.shared:7d}  virtual b32 {spill.group(1) if spill else '-'}")
                else:
                    from triton._C.libtriton import ir
                    from triton.compiler.compiler import make_backend
                    backend = make_backend(target)
                    options = backend.parse_options({})
                    context = ir.context()
                    ir.load_dialects(context)
                    backend.load_dialects(context)
                    src.make_ir(target, options, backend.get_codegen_implementation(options), backend.get_module_map(), context)
            except Exception as error:
                failed += 1
                print(f"FAILED {path.relative_to(ROOT)}: {name}: {type(error).__name__}: {str(error)[:1500]}")
print(f"instances: {count}, failures: {failed}")
sys.exit(1 if failed or not count else 0)
