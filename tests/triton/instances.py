# tests/triton/instances.py - the instances and kernels of a kernel file.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
"""PROGRAM names the tessera program."""
import ast
import functools
import json
import os
import subprocess

from repository import ROOT


def kernel_files():
    """The files of kernels/ that hold kernels: not the functions that they call, and not patterns, whose kernels are derived."""
    return sorted(path for path in (ROOT / "kernels").glob("*/*.py") if path.parent.name not in ("attention", "patterns"))


def instances_of(path):
    """{kernel: {instance: {parameter: type or value}}} of a kernel file, parameters in order: "*fp32:16" is a type, 64 a value."""
    run = subprocess.run([os.environ["PROGRAM"], "compile", str(path), "--list", "--json"], capture_output=True, text=True)
    if run.returncode:
        raise RuntimeError(run.stderr)
    said = lambda argument: argument.get("type", argument.get("value"))
    return {kernel["name"]: {name: {p["name"]: said(instance["args"][p["name"]]) for p in kernel["params"] if p["name"] in instance["args"]}
                             for name, instance in kernel["instances"].items()}
            for kernel in json.loads(run.stdout)["kernels"] if kernel["instances"]}


@functools.cache
def imported_names(root):
    """Names that a file under root/kernels imports from another one."""
    return {alias.name for path in (root / "kernels").rglob("*.py") for n in ast.walk(ast.parse(path.read_text()))
            if isinstance(n, ast.ImportFrom) and n.module.startswith("kernels.") for alias in n.names}


def kernels_of(path, root):
    """The functions of a kernel file that are launched, as ast nodes. Others are helpers: they are called, passed to a call, or imported by
    another file."""
    tree = ast.parse(path.read_text())
    calls = [n for n in ast.walk(tree) if isinstance(n, ast.Call)]
    helpers = {x.id for n in calls for x in (n.func, *n.args) if isinstance(x, ast.Name)} | imported_names(root)
    return [f for f in tree.body if isinstance(f, ast.FunctionDef) and f.name not in helpers]


def is_type(value):
    return isinstance(value, str)
