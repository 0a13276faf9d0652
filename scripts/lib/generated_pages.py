# scripts/lib/generated_pages.py - pages of the site that are made from sources when the site is built (scripts/lib/site_hooks.py).
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
import os
import shutil
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
# page -> the source that the repository's pages link instead of it
SOURCES = {"dialect/tile.md": "dialect/tile/td", "compiler/passes.md": "codegen/gpu/passes/Passes.td"}


def tblgen():
    """The program mlir-tblgen, or None if it is not installed."""
    return shutil.which("mlir-tblgen-22") or shutil.which("/usr/lib/llvm-22/bin/mlir-tblgen")


def output(*command):
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError("%s failed:\n%s" % (" ".join(map(str, command)), done.stderr))
    return done.stdout


def missing(title, what):
    return "# %s\n\nThis page is generated. It was left out of this build of the site because %s.\n" % (title, what)


def tile():
    """The ops, types and attributes of the dialect, from the .td files."""
    if tblgen() is None:
        return missing("The tile dialect", "mlir-tblgen is not installed (`scripts/setup full` installs it)")
    return output(tblgen(), "-gen-dialect-doc", "-dialect=tile", "-I", ".", "-I", "/usr/lib/llvm-22/include", "dialect/tile/td/TileOps.td")


def passes():
    """What each pass makes of a loop, from the programs of a build."""
    build = Path(os.environ.get("TESSERA_BUILD", ROOT / "build" / "release"))
    programs = ("tessera", "tessera-worker", "tessera-opt")
    if tblgen() is None or not all((build / "bin" / name).exists() for name in programs):
        return missing("What each pass makes of a loop", "the compiler was not built (`scripts/build release all`)")
    return output(ROOT / "scripts" / "pass-page", build)


def pages():
    """{page: text} of those whose sources exist."""
    makers = {"dialect/tile.md": tile, "compiler/passes.md": passes}
    return {page: makers[page]() for page, source in SOURCES.items() if (ROOT / source).exists()}
