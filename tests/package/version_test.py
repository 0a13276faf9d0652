# tests/package/version_test.py - the package has the version that CMakeLists.txt declares.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
import pathlib
import re
import unittest

import tessera

ROOT = pathlib.Path(__file__).resolve().parents[2]


class Version(unittest.TestCase):
    def test_is_that_of_the_project(self):
        [declared] = re.findall(r"^project\(tessera VERSION (\S+)", (ROOT / "CMakeLists.txt").read_text(), re.M)
        self.assertEqual(tessera.__version__, declared)


if __name__ == "__main__":
    unittest.main()
