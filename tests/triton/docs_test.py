# tests/triton/docs_test.py - docs/kernels.md lists every kernel with the arguments it really has, in order.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
import ast
import re

from instances import kernel_files, kernels_of
from repository import ROOT


def test_arguments_of_every_kernel():
    rows = {m[1]: (m[2], m[3], m[4]) for m in
            re.finditer(r"^\| `(\w+)` \(([\w/.]+)\) \| `(.*?)` ; `(.*?)` \|", (ROOT / "docs/kernels.md").read_text(), re.M)}
    wrong = []
    for path in kernel_files():
        for f in kernels_of(path, ROOT):
            constexprs = [a.arg for a in f.args.args if a.annotation and ast.unparse(a.annotation) == "tl.constexpr"]
            runtime = [a.arg for a in f.args.args if a.arg not in constexprs]
            want = (str(path.relative_to(ROOT / "kernels")), ", ".join(runtime), ", ".join(constexprs))
            got = rows.pop(f.name, None)
            if got != want:
                wrong.append(f"{f.name}: the page says {got}, the file says {want}")
    wrong += [f"{name}: documented, does not exist" for name in rows]
    assert not wrong, "\n".join(wrong)
