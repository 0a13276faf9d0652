"""tests/scripts/version_test.py - scripts/checks/version.py finds a version that is not that of CMakeLists.txt.

SPDX-License-Identifier: Apache-2.0
"""
import importlib.util
import pathlib
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.dont_write_bytecode = True
spec = importlib.util.spec_from_file_location("version", ROOT / "scripts/checks/version.py")
check = importlib.util.module_from_spec(spec)
spec.loader.exec_module(check)


class Version(unittest.TestCase):
    def test_declared_is_the_version_of_project(self):
        self.assertEqual(check.declared("cmake_minimum_required(VERSION 3.25)\nproject(tessera VERSION 1.20.3 LANGUAGES C CXX)\n"), "1.20.3")
        self.assertIsNone(check.declared("cmake_minimum_required(VERSION 3.25)\n"))

    def test_a_second_assignment_is_an_error(self):
        for text in ('__version__ = "0.2.0"\n', 'version = "0.2.0"\n'):
            self.assertEqual(len(check.file_errors("python/tessera/__init__.py", "\n" + text, "0.2.0")), 1, text)
        self.assertEqual(check.file_errors("python/tessera/__init__.py", "__version__ = version()\n", "0.2.0"), [])

    def test_another_version_in_a_name_is_an_error(self):
        for text in ("tessera_0.1.0_amd64.deb", "libtessera.so.0.1", "find_package(tessera 0.1 REQUIRED)", "tessera-torch_0.1.0_amd64.deb"):
            [error] = check.file_errors("docs/cpp.md", "\n\n" + text, "0.2.0")
            self.assertRegex(error, r"^docs/cpp\.md:3: names version 0\.1(\.0)?, and CMakeLists\.txt has 0\.2\.0$")

    def test_the_declared_version_passes(self):
        text = "tessera_0.2.0_amd64.deb libtessera.so.0.2 find_package(tessera 0.2 REQUIRED) libtessera_torch.so"
        self.assertEqual(check.file_errors("docs/cpp.md", text, "0.2.0"), [])


if __name__ == "__main__":
    unittest.main()
