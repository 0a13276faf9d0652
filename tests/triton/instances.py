# tests/triton/instances.py - the instances of a kernel file, as tessera reads them.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
"""PROGRAM names the tessera program."""
import json
import os
import subprocess

from repository import ROOT

# Files of functions that kernels of other files call.
HELPERS = {"kernels/attention/intervals.py"}


def kernel_files():
    """The files of kernels/ that hold kernels."""
    return sorted(path for path in (ROOT / "kernels").glob("*/*.py") if str(path.relative_to(ROOT)) not in HELPERS)


def instances_of(path):
    """{kernel: {instance: {parameter: type or value}}} of a kernel file, parameters in order: "*fp32:16" is a type, 64 a value."""
    run = subprocess.run([os.environ["PROGRAM"], "compile", str(path), "--list", "--json"], capture_output=True, text=True)
    if run.returncode:
        raise RuntimeError(run.stderr)
    said = lambda argument: argument.get("type", argument.get("value"))
    return {kernel["name"]: {name: {p["name"]: said(instance["args"][p["name"]]) for p in kernel["params"] if p["name"] in instance["args"]}
                             for name, instance in kernel["instances"].items()}
            for kernel in json.loads(run.stdout)["kernels"] if kernel["instances"]}


def is_type(value):
    return isinstance(value, str)
