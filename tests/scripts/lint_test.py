"""tests/scripts/lint_test.py - scripts/checks/lint.sh finds what ruff and codespell find, and names what to install where they are missing.

SPDX-License-Identifier: Apache-2.0
"""
import os
import shutil
import subprocess

import pytest
from repository import ROOT

GOOD = '"""A module."""\nimport os\n\nprint(os.sep)\n'


@pytest.fixture
def folder(tmp_path):
    """A folder with the configuration of the repository and one Python file that is right."""
    for name in ("ruff.toml", ".codespellrc"):
        shutil.copy(ROOT / name, tmp_path)
    (tmp_path / "module.py").write_text(GOOD)
    return tmp_path


def lint(folder, *arguments, **environment):
    return subprocess.run([ROOT / "scripts/checks/lint.sh", *arguments], cwd=folder, capture_output=True, text=True, env={**os.environ, **environment})


def test_right_files_pass(folder):
    done = lint(folder)
    assert (done.returncode, done.stdout) == (0, "")


def test_unused_import(folder):
    (folder / "module.py").write_text(GOOD.replace("import os\n", "import os\nimport sys\n"))
    done = lint(folder)
    assert done.returncode == 1
    assert "`sys` imported but unused" in done.stdout and "check: lint: correct the lines above" in done.stdout
    assert lint(folder, "--fix").returncode == 0
    assert (folder / "module.py").read_text() == GOOD


def test_misspelled_word(folder):
    (folder / "page.md").write_text("They reci" + "eve a page.\n")
    done = lint(folder)
    assert done.returncode == 1
    assert "receive" in done.stdout and "check: spelling: correct the words above" in done.stdout


def test_missing_linters(folder):
    done = lint(folder, TESSERA_DEPS="/nonexistent", PATH="/usr/bin:/bin")
    assert done.returncode == 1
    for linter in ("ruff", "codespell"):
        assert f"check: {linter} is not installed: run scripts/setup check" in done.stdout
