# tests/errors/launch_test.py - compares the complete message of every wrong launch of the catalogue.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
"""A section of launches.py is a Python program with one mistake, and the text of the exception; ErrorsTest.cpp describes
the form. UPDATE_ERRORS=1 writes the expected texts: read them before committing."""
import os

import pytest
import sections
import torch

MODULES = str(sections.HERE / "modules")
CASES = sections.read(sections.LAUNCHES)
torch.ops.load_library(os.environ["LIBTESSERA_TORCH"])


def message_of(case):
    try:
        exec(compile(case.code, case.name + ".py", "exec"), {})
        said = ""
    except Exception as error:  # noqa: BLE001 - its text is what is tested
        said = "%s: %s" % (type(error).__name__, error)
    # torch appends where in its own code an exception was made.
    return said.split("\nException raised from")[0].replace(MODULES + "/", "").rstrip("\n") + "\n"


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_message(case, monkeypatch):
    monkeypatch.chdir(MODULES)
    said = message_of(case)
    assert said != "\n", "the launch raises no exception"
    if os.environ.get("UPDATE_ERRORS"):
        now = {each.name: each for each in sections.read(sections.LAUNCHES)} | {case.name: case._replace(expected=said)}
        sections.write(sections.LAUNCHES, now.values())
    else:
        assert said == case.expected
