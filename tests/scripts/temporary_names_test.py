"""tests/scripts/temporary_names_test.py - no source and no script makes a file of a predictable name in /tmp, where another user can
take the name first.

SPDX-License-Identifier: Apache-2.0
"""
import re
import subprocess

from repository import ROOT

# A fixed name below the folder of temporary files, in shell, Python or C++.
FIXED = re.compile(r"""(?:>|-o|--out|mkdir(?:\ -p)?|cp|mv|touch|rm\ -r?f?)\s*["']?(?:/tmp|/var/tmp|\$\{?TMPDIR[^}]*\}?)/[\w.$-]+
                      |(?:temp_directory_path\([^)]*\)|gettempdir\(\))\s*/\s*["'][^"']*["']
                      |open\(\s*f?["']/tmp/""", re.X)


def test_no_fixed_names_below_tmp():
    files = subprocess.check_output(["git", "ls-files", "*.cpp", "*.h", "*.py", "*.sh", "*.cmake", "scripts", "Makefile", ".ci"],
                                    text=True, cwd=ROOT).split()
    found = []
    for path in files:
        # In the sandbox of the mutants, TMPDIR is a private mount.
        if path in ("tests/scripts/temporary_names_test.py", "tests/mutants/run_test.py") or not (ROOT / path).is_file():
            continue
        text = (ROOT / path).read_text(errors="replace")
        for number, line in enumerate(text.splitlines(), 1):
            if FIXED.search(line) and "X" * 6 not in line and not re.match(r"\s*(?:#|//|\*)", line):
                found.append(f"{path}:{number}: {line.strip()}")
    assert files
    assert not found
