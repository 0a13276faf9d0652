# tests/triton/names_test.py - every name of Triton's language: known here, or refused by a message with a replacement.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
"""TESSERA_UPDATE_DOCS=1 and Triton 3.9 write docs/language/names.md.

The names are those of the Triton that Python imports: 3.6, or 3.9, whose names are on the page. Each is named in a kernel: it compiles,
or the error is NotSupported or UnknownAttribute, has a location, a caret and a HINT, and is in the page's table of what is not supported."""
import os
import pathlib
import re

import triton
import triton.language as tl
import triton.language.core as core
import triton.language.extra.cuda as cuda
import triton.language.math as tlmath
from compiled import torch
from repository import ROOT
from triton.language.extra.cuda import libdevice

PAGE = ROOT / "docs/language/names.md"
HEAD = """import triton
import triton.language as tl
from triton.language.extra import cuda, libdevice


@triton.jit
def k(X, O, N: tl.constexpr):
    x = tl.load(X + tl.arange(0, N))
    block = tl.make_block_ptr(X, [N], [1], [0], [16], [0])
    array = tl.make_tensor_descriptor(X, [N], [1], [16])
"""


def public(thing, base=object):
    """Names without an underscore that are not those of Python or of imports."""
    return [n for n in dir(thing) if not n.startswith("_") and not hasattr(base, n)]


# Python's own, imports and classes of the implementation that Triton's modules show by accident.
INNER = {"List", "T", "wraps", "core", "annotations", "Sequence", "TypeVar", "knobs"}
# Constants of the class that no kernel reads, and the making of IR.
OF_CLASS = {"FP_TYPES", "KIND", "OTHER_TYPES", "SIGNEDNESS", "SINT_TYPES", "STANDARD_FP_TYPES", "UINT_TYPES", "cache_key_part",
            "codegen_name", "mangle", "to_ir", "is_dtype"}
POINTERS = {"store"} | {n for n in dir(tl.tensor) if n.startswith("atomic_")}


def groups():
    """(title, prefix of the name, names) of everything that a kernel can name."""
    yield "`tl.`", lambda n: f"tl.{n}", public(tl)
    yield "`tl.math.`", lambda n: f"tl.math.{n}", [n for n in public(tlmath) if n not in INNER]
    yield "Methods of numbers and blocks", (
        lambda n: f"X.{n}" if n in POINTERS else f"block.{n}" if n == "advance" else
        f"tl.reshape(x, [4, N // 4]).{n}" if n == "T" else f"x.{n}"), public(tl.tensor)
    yield "Methods of types", (lambda n: f"tl.int32.{n}" if n.startswith("get_int") else f"x.dtype.{n}"), [
        n for n in public(tl.dtype) if n not in OF_CLASS]
    yield "Methods of descriptors", lambda n: f"array.{n}", [
        n for n in public(core.tensor_descriptor) if n != "type" and n != "handle"]
    yield "`libdevice.`", lambda n: f"libdevice.{n}", [n for n in public(libdevice) if n not in INNER]
    yield "`tl.extra.cuda.`", lambda n: f"cuda.{n}", [n for n in public(cuda) if n not in ("utils", "gdc")]


def launch(folder, expressions):
    """Nothing when a kernel that names all of them compiles, else the error's text."""
    path = pathlib.Path(folder) / f"names{len(os.listdir(folder))}.py"  # a launch knows a file by its name
    path.write_text(HEAD + "".join(f"    f{i} = {e}\n" for i, e in enumerate(expressions)) + "    tl.store(O, 1.0)\n")
    try:
        torch.ops.tessera.launch(str(path), "k", [torch.zeros(64), torch.zeros(64)], [], [1], "N=16")
        return None
    except Exception as error:
        return str(error)


def row(folder, spelled, failures):
    """None for a name that works, else what to write instead."""
    text = launch(folder, [spelled])
    if text is None:
        return None
    place = re.search(r"names\d+\.py:11:\d+: error: .*\[(\w+)\]\n.*\n *\^", text)
    hint = re.search(r"HINT: (.*)", text)
    if not place or place.group(1) not in ("NotSupported", "UnknownAttribute") or not hint or "internal" in text:
        failures.append(f"{spelled}: {text}")
        return "?"
    return hint.group(1)


def page_of(sections):
    text = f"""# Names of Triton {triton.__version__}

Every public name of `triton.language`, its types, `tl.math`, libdevice and `tl.extra.cuda`: written by
`tests/triton/names_test.py`, which asks the compiler for each. [builtins](builtins.md) has signatures and examples,
[numerics](../numerics.md#functions-of-libdevice) the errors of libdevice's functions. A name that is not supported is an error at its place that
says what to write.
"""
    for title, known, missing in sections:
        text += f"\n## {title}\n\n{len(known)} of {len(known) + len(missing)}: " + " ".join(f"`{n}`" for n in known) + "\n"
        if missing:
            text += "\n| not supported | instead |\n|---|---|\n" + "".join(f"| `{n}` | {hint} |\n" for n, hint in missing)
    return text


def test_names_and_their_page(tmp_path):
    failures, sections = [], []
    update = os.environ.get("TESSERA_UPDATE_DOCS")
    page = PAGE.read_text() if PAGE.exists() else ""
    for title, spell, names in groups():
        assert names, title
        part = page.split(f"## {title}\n", 1)[-1].split("\n## ", 1)[0]
        listed = set(re.findall(r"^\| `(\w+)` \|", part, re.M))
        expected = [n for n in names if n not in listed]
        # In one kernel what should work; each by itself where it does not.
        if not update and launch(tmp_path, [spell(n) for n in expected]) is None:
            found = [(n, row(tmp_path, spell(n), failures)) for n in names if n in listed]
            found += [(n, None) for n in expected]
        else:
            found = [(n, row(tmp_path, spell(n), failures)) for n in names]
        found.sort(key=lambda pair: names.index(pair[0]))
        sections.append((title, [n for n, hint in found if hint is None], [(n, h) for n, h in found if h is not None]))
    assert not failures, "\n".join(failures)
    if triton.__version__ < "3.9":
        return  # the page has the names of the newest release
    if update:
        PAGE.write_text(page_of(sections))
    assert page_of(sections) == PAGE.read_text(), f"{PAGE} differs from the compiler's answers: run this test with TESSERA_UPDATE_DOCS=1"
