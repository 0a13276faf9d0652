# tests/package/docs_test.py - the examples of docs/python.md run, one after the other.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

PAGE = pathlib.Path(__file__).parents[2] / "docs" / "python.md"


class Examples(unittest.TestCase):
    def test_examples(self):
        blocks = re.findall(r"^```python\n(.*?)^```$", PAGE.read_text(), re.M | re.S)
        self.assertGreaterEqual(len(blocks), 3)
        with tempfile.TemporaryDirectory() as folder:
            program = pathlib.Path(folder, "example.py")
            program.write_text("\n".join(blocks))
            done = subprocess.run([sys.executable, str(program)], text=True, capture_output=True, check=False)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertIn("BLOCK: ", done.stdout)


if __name__ == "__main__":
    unittest.main()
