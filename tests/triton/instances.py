# tests/triton/instances.py - the instances of a kernel file, as tessera reads them.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
"""PROGRAM names the tessera program."""
import json
import os
import subprocess


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
