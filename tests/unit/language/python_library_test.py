# tests/unit/language/python_library_test.py - the reader of kernel files on the files of Python's own library.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
"""usage: python_library_test.py LISTER. LISTER is the program of ListFiles.cpp.

The library holds no kernel, and uses nearly all of Python's syntax. At least 99% of the files that this interpreter
compiles must be read, and no kernel be found in any."""
import pathlib
import subprocess
import sys
import sysconfig
import warnings

warnings.simplefilter("ignore")
folder = pathlib.Path(sysconfig.get_paths()["stdlib"])
files = []
for path in sorted(folder.rglob("*.py")):
    if "site-packages" in path.parts or "dist-packages" in path.parts:
        continue
    try:
        compile(path.read_bytes(), str(path), "exec", dont_inherit=True)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        continue  # files that show errors
    files.append(str(path))
run = subprocess.run([sys.argv[1]], input="\n".join(files) + "\n", capture_output=True, text=True)
lines = run.stdout.splitlines()
errors = [line for line in lines if line.startswith("error ")]
kernels = [line for line in lines if line.startswith("ok ") and not line.startswith("ok 0 ")]
for line in errors + kernels:
    print(line)
print(f"{len(files)} files of {folder}: {len(errors)} not read, {len(kernels)} with kernels")
if run.returncode or len(lines) != len(files):
    sys.exit(f"the lister ended with {run.returncode} after {len(lines)} files: {run.stderr[-2000:]}")
if len(files) < 300:
    sys.exit(f"{folder} holds too few files to show anything")
if kernels or len(errors) > 0.01 * len(files):
    sys.exit("too many files are not read")
