# tests/errors/launch_test.py - compares the complete message of every wrong launch of the catalogue.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
"""A section of launches.py is a Python program with one mistake, and the text of the exception; ErrorsTest.cpp describes
the form. UPDATE_ERRORS=1 writes the expected texts: read them before committing."""
import os
import sys

import sections

try:
    import torch
except ImportError as error:
    print("skipped:", error)
    sys.exit(1 if os.environ.get("TEST_COMPLETE") else 77)

modules = str(sections.HERE / "modules")
torch.ops.load_library(os.environ["LIBTESSERA_TORCH"])
os.chdir(modules)
failures = 0
updated = []
for case in sections.read(sections.LAUNCHES):
    try:
        exec(compile(case.code, case.name + ".py", "exec"), {})
        said = ""
    except Exception as error:  # noqa: BLE001 - its text is what is tested
        said = "%s: %s" % (type(error).__name__, error)
    # torch appends where in its own code an exception was made.
    said = said.split("\nException raised from")[0].replace(modules + "/", "").rstrip("\n") + "\n"
    updated.append(case._replace(expected=said))
    if said == "\n" or said != case.expected and not os.environ.get("UPDATE_ERRORS"):
        failures += 1
        print("FAILED %s says:\n%s" % (case.name, said))
if os.environ.get("UPDATE_ERRORS"):
    sections.write(sections.LAUNCHES, updated)
print("failures:", failures)
sys.exit(1 if failures else 0)
