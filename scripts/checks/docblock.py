#!/usr/bin/env python3
"""scripts/checks/docblock.py PAGE NAME - a code block of a page as patterns for FileCheck.

The block begins with ```mlir NAME; tests/lit/gpu runs the pass that the page shows over a whole kernel and compares. In a block
%x and #x are any name, the same one each time; ... is any text; a comment is for readers; the other lines must follow one another
in this order, with others in between. Without arguments: every block of docs/compiler/gpu-*.md that has a name is compared by a test, and
every block of tile IR has a name.
SPDX-License-Identifier: Apache-2.0
"""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]


def blocks(page):
    """{name: lines}; blocks of tile IR without a name under None."""
    found, name, lines = {}, None, None
    for line in page.read_text().splitlines():
        if lines is None and line.startswith("```mlir"):
            name, lines = line[7:].strip() or None, []
        elif lines is not None and line.startswith("```"):
            found[name] = lines
            lines = None
        elif lines is not None:
            lines.append(line)
    return found


def patterns(lines, prefix="CHECK"):
    seen = set()

    def pattern(text):
        parts = []
        for piece in re.split(r"([%#][A-Za-z_]\w*|\.\.\.|\[\[|\{\{)", text):
            if piece == "...":
                parts.append("{{.*}}")
            elif piece in ("[[", "{{"):
                parts.append("{{" + "".join("\\" + c for c in piece) + "}}")
            elif re.fullmatch(r"#tile", piece):
                parts.append(piece)
            elif re.fullmatch(r"[%#]\w+", piece):
                kind, name = piece[0], ("V" if piece[0] == "%" else "L") + piece[1:].upper()
                parts.append(f"{kind}[[{name}]]" if name in seen else f"{kind}[[{name}:[A-Za-z0-9_#]+]]")
                seen.add(name)
            else:
                parts.append(piece)
        return "".join(parts)

    text, result = "", []
    for line in lines:
        line = re.sub(r"\s*//.*", "", line).strip()
        text = f"{text} {line}".strip()
        # A layout may go over several lines.
        if text in ("", "}"):
            text = ""
            continue
        if re.match(r"#\w+ = ", text) and not text.endswith(">"):
            continue
        label = re.match(r"func\.func @(\w+)", text)
        kind = "-LABEL" if label else "-DAG" if text.startswith("#") else ""
        result.append(f"{prefix}{kind}: {'@' + label[1] + '(' if label else pattern(text)}")
        text = ""
    return result


def check():
    tests = "".join(p.read_text() for p in (ROOT / "tests/lit").rglob("*.mlir"))
    failed = 0
    for page in sorted((ROOT / "docs/compiler").glob("gpu-*.md")):
        for name in blocks(page):
            if name is None or f"%docblock{page.name[3:]} {name} " not in tests:
                print(f"check: {page.relative_to(ROOT)}: a block of tile IR is compared by no test of tests/lit: {name or 'it has no name'}")
                failed = 1
    return failed


if __name__ == "__main__":
    if len(sys.argv) == 1:
        sys.exit(check())
    known = blocks(pathlib.Path(sys.argv[1]))
    if sys.argv[2] not in known:
        sys.exit(f"{sys.argv[1]} has no block {sys.argv[2]}; it has {', '.join(filter(None, known))}")
    print("\n".join(patterns(known[sys.argv[2]])))
