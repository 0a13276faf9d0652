# tests/package/version_test.py - the package has the version that CMakeLists.txt declares.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
import re

import tessera
from repository import ROOT


def test_is_that_of_the_project():
    [declared] = re.findall(r"^project\(tessera VERSION (\S+)", (ROOT / "CMakeLists.txt").read_text(), re.M)
    assert tessera.__version__ == declared
