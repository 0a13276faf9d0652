#!/usr/bin/env python3
"""docs/kernel-reference.md: each kernel of kernels/ with its arguments, grid and docstring; checked to be fresh, --fix writes it.

SPDX-License-Identifier: Apache-2.0
"""
import ast
import pathlib
import re
import sys

PAGE = "docs/kernel-reference.md"
SHAPES = "attention/core.py"
FOLDERS = ("nn", "nsa", "selection", "dense", "tutorials")
GRID = re.compile(r"^# tessera: grid\((.*)\)$")
GRID_TEXT = re.compile(r"\bGrid: ")

INTRO = """<!-- Written by scripts/checks/kernels.py --fix from the files of kernels/. -->
# Kernel reference

Each kernel with its arguments in order, then its constexprs, its grid and its docstring. [Kernels](kernels.md#conventions) has the conventions
of shapes, strides and types. In a grid T is the number of tokens, TC the number of compressed tokens, S the longest sequence, B the number of
sequences, H the number of key/value heads (of lists, where a head has several) and G the number of query heads of each.
"""


def plain(text):
    """A docstring's text as Markdown. Escapes characters that Markdown would take for marks, except in `code`."""
    return "".join(part if part.startswith("`") else re.sub(r"([*_<|])", r"\\\1", part) for part in re.split(r"(`[^`]*`)", text))


def paragraphs(docstring):
    return [plain(" ".join(part.split())) for part in (docstring or "").split("\n\n") if part.strip()]


def is_kernel(function, lines):
    """Whether a `# tessera:` line is among the comments directly above the decorators."""
    if not isinstance(function, ast.FunctionDef) or not function.decorator_list:
        return False
    return any(line.startswith("# tessera:") for line in comments_above(function, lines))


def comments_above(function, lines):
    first = function.decorator_list[0].lineno - 1
    begin = first
    while begin > 0 and lines[begin - 1].startswith("#"):
        begin -= 1
    return lines[begin:first]


def signature(function):
    """"runtime, arguments ; constexprs" of a kernel."""
    constexprs = [a.arg for a in function.args.args if a.annotation and ast.unparse(a.annotation) == "tl.constexpr"]
    runtime = [a.arg for a in function.args.args if a.arg not in constexprs]
    return "%s; %s" % (", ".join(runtime), ", ".join(constexprs))


def grid_of(function, lines):
    found = [match[1] for line in comments_above(function, lines) if (match := GRID.match(line))]
    return found[0] if found else None


def kernels_of(path):
    """(docstring of the file, [(function, grid or None)]) of a kernel file."""
    text = path.read_text(encoding="utf-8")
    module, lines = ast.parse(text), text.splitlines()
    return ast.get_docstring(module), [(f, grid_of(f, lines)) for f in module.body if is_kernel(f, lines)]


def problems(path):
    """What the docstrings of a file lack: a text, and the grid where no `# tessera: grid` line gives it."""
    found = []
    for function, grid in kernels_of(path)[1]:
        docstring = ast.get_docstring(function) or ""
        if not docstring:
            found.append("%s:%d: %s has no docstring: write what it computes, with shapes" % (path, function.lineno, function.name))
        elif not grid and not GRID_TEXT.search(docstring):
            found.append("%s:%d: the grid of %s is missing: end its docstring with `Grid: (...).`, or add a `# tessera: grid(...)` line"
                         % (path, function.lineno, function.name))
    return found


def section(path):
    """The lines of a file: its formulas, then each kernel."""
    docstring, kernels = kernels_of(path)
    lines = ["### %s" % path.name, ""]
    for part in paragraphs(docstring):
        lines += [part, ""]
    for function, grid in kernels:
        first, *rest = paragraphs(ast.get_docstring(function))
        lines += ["`%s(%s)`%s: %s" % (function.name, signature(function), ", grid `(%s)`" % grid if grid else "", first), ""]
        for part in rest:
            lines += [part, ""]
    return lines


def page(root):
    lines = [INTRO, "## Shapes of attention (kernels/%s)" % SHAPES, ""]
    for part in paragraphs(kernels_of(root / SHAPES)[0]):
        lines += [part, ""]
    for folder in FOLDERS:
        lines += ["## kernels/%s" % folder, ""]
        for path in sorted((root / folder).glob("*.py")):
            if kernels_of(path)[1]:
                lines += section(path)
    return "\n".join(lines).rstrip("\n") + "\n"


def main():
    root = pathlib.Path("kernels")
    errors = [text for folder in FOLDERS for path in sorted((root / folder).glob("*.py")) for text in problems(path)]
    for error in errors:
        print("check: " + error)
    if errors:
        return 1
    fresh, path = page(root), pathlib.Path(PAGE)
    if path.exists() and path.read_text(encoding="utf-8") == fresh:
        return 0
    if "--fix" not in sys.argv:
        print("check: docs: %s does not match kernels/: run scripts/check --fix" % PAGE)
        return 1
    path.write_text(fresh, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
