#!/usr/bin/env python3
"""scripts/checks/errors.py on small folders: the rows of docs/language/errors.md, for both layouts of the examples.

SPDX-License-Identifier: Apache-2.0
"""
import os
import pathlib
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
sys.path.append(str(pathlib.Path(__file__).resolve().parents[2] / "scripts" / "checks"))
import errors  # noqa: E402

DIAGNOSTICS = "// language\n// A word is misspelt.\nDIAG(Word, Error)\n// A block is too large.\nDIAG(Size, Error)\n"


class Page(unittest.TestCase):
    def setUp(self):
        folder, before = tempfile.TemporaryDirectory(), os.getcwd()
        self.addCleanup(folder.cleanup)
        os.chdir(folder.name)
        self.addCleanup(os.chdir, before)
        self.write("support/Diagnostics.def", DIAGNOSTICS)
        self.write("tests/errors/cases/misspelt.py", "kernel")
        self.write("tests/errors/cases/misspelt.txt", "kernel.py:1:1: error: `x` is unknown [Word]\n")

    def write(self, name, text):
        path = pathlib.Path(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")

    def test_an_id_links_a_case(self):
        self.assertIn("| `Word` | A word is misspelt. | [misspelt.py](../../tests/errors/cases/misspelt.py) |\n", errors.page())

    def test_an_id_with_a_file_of_cases_links_it(self):
        self.write("tests/errors/cases/Word.py", "cases")
        self.assertIn("| `Word` | A word is misspelt. | [Word.py](../../tests/errors/cases/Word.py) |\n", errors.page())

    def test_an_id_without_a_case_links_the_reasons(self):
        self.assertIn("| `Size` | A block is too large. | [unreachable.txt](../../tests/errors/unreachable.txt) |\n", errors.page())

    def test_every_id_has_a_meaning(self):
        self.assertEqual(errors.undescribed(), [])
        self.write("support/Diagnostics.def", DIAGNOSTICS + "DIAG(New, Error)\n")
        self.assertEqual(errors.undescribed(), ["New"])


if __name__ == "__main__":
    unittest.main()
