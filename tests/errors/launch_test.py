# tests/errors/launch_test.py - the whole message of every wrong launch of the catalogue.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
"""launches/SLUG.py is a Python program with one mistake, launches/SLUG.txt what it is told. UPDATE_ERRORS=1 writes the
texts anew: read them before committing."""
import os
import pathlib
import sys

try:
    import torch
except ImportError as error:
    print("skipped:", error)
    sys.exit(1 if os.environ.get("TEST_COMPLETE") else 77)

folder = pathlib.Path(__file__).resolve().parent
torch.ops.load_library(os.environ["LIBTESSERA_TORCH"])
os.chdir(folder / "modules")
failures = 0
for path in sorted((folder / "launches").glob("*.py")):
    try:
        exec(compile(path.read_text(), path.name, "exec"), {})
        said = ""
    except Exception as error:  # noqa: BLE001 - its text is what is tested
        said = "%s: %s" % (type(error).__name__, error)
    # torch appends where in its own code an exception was made.
    said = said.split("\nException raised from")[0].replace(str(folder / "modules") + "/", "").rstrip("\n") + "\n"
    expected = path.with_suffix(".txt")
    if os.environ.get("UPDATE_ERRORS"):
        expected.write_text(said)
    if not expected.exists() or expected.read_text() != said or said == "\n":
        failures += 1
        print("FAILED %s says:\n%s" % (path.stem, said))
print("failures:", failures)
sys.exit(1 if failures else 0)
