# tests/triton/docs_test.py - docs/kernels.md lists every kernel with the arguments it really has, in order.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
import ast
import re

from instances import kernel_files
from repository import ROOT


def test_arguments_of_every_kernel():
    rows = {m[1]: (m[2], m[3], m[4]) for m in
            re.finditer(r"^\| `(\w+)` \(([\w/.]+)\) \| `(.*?)` ; `(.*?)` \|", (ROOT / "docs/kernels.md").read_text(), re.M)}
    wrong = []
    for path in kernel_files():
        tree = ast.parse(path.read_text())
        calls = [n for n in ast.walk(tree) if isinstance(n, ast.Call)]
        called = {x.id for n in calls for x in (n.func, *n.args) if isinstance(x, ast.Name)}         # or given to a scan
        for f in tree.body:
            if not isinstance(f, ast.FunctionDef) or f.name in called:       # helpers are called, kernels are launched
                continue
            runtime = [a.arg for a in f.args.args if a.annotation is None]
            constexprs = [a.arg for a in f.args.args if a.annotation is not None]
            want = (str(path.relative_to(ROOT / "kernels")), ", ".join(runtime), ", ".join(constexprs))
            got = rows.pop(f.name, None)
            if got != want:
                wrong.append(f"{f.name}: the page says {got}, the file says {want}")
    wrong += [f"{name}: documented, does not exist" for name in rows]
    assert not wrong, "\n".join(wrong)
