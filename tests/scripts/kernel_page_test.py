#!/usr/bin/env python3
"""scripts/checks/kernels.py on small kernel files: the page has each kernel as its file has it, and incomplete docstrings are named.

SPDX-License-Identifier: Apache-2.0
"""
import pathlib
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
sys.path.append(str(pathlib.Path(__file__).resolve().parents[2] / "scripts" / "checks"))
import kernels  # noqa: E402

FILE = '''"""y = a * x for x [N]."""
import triton
import triton.language as tl


@triton.jit
def helper(x):
    return x


# tessera: types("X Y: *fp32", "N: i32")
# tessera: grid(cdiv(N, BLOCK))
@triton.jit
def scale_rows(X, Y, N, BLOCK: tl.constexpr, FAST: tl.constexpr = 0):
    """Computes `BLOCK` elements of y = a*x.

    Later elements are not written."""
    pass
'''


class Page(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        self.write("attention/core.py", '"""Shapes: q [T, H, D]."""\n')
        self.path = self.write("nn/scale.py", FILE)

    def write(self, name, text):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return path

    def test_a_kernel_has_arguments_grid_and_text(self):
        page = kernels.page(self.root)
        self.assertIn("### scale.py\n\ny = a \\* x for x [N].\n\n"
                      "`scale_rows(X, Y, N; BLOCK, FAST)`, grid `(cdiv(N, BLOCK))`: Computes `BLOCK` elements of y = a\\*x.\n\n"
                      "Later elements are not written.\n", page)
        self.assertIn("Shapes: q [T, H, D].", page)
        self.assertNotIn("helper", page)
        self.assertEqual(kernels.problems(self.path), [])

    def test_a_kernel_without_a_grid_is_named(self):
        path = self.write("nn/scale.py", FILE.replace("# tessera: grid(cdiv(N, BLOCK))\n", ""))
        self.assertIn("the grid of scale_rows is missing", kernels.problems(path)[0])
        path = self.write("nn/scale.py", path.read_text().replace("are not written.", "are not written. Grid: (cdiv(N, BLOCK))."))
        self.assertEqual(kernels.problems(path), [])

    def test_a_kernel_without_a_docstring_is_named(self):
        path = self.write("nn/scale.py", FILE.split('    """Computes')[0] + "    pass\n")
        self.assertIn("scale_rows has no docstring", kernels.problems(path)[0])


class Repository(unittest.TestCase):
    def test_the_page_is_fresh(self):
        root = pathlib.Path(__file__).resolve().parents[2]
        self.assertEqual((root / kernels.PAGE).read_text(encoding="utf-8"), kernels.page(root / "kernels"))
        names = {path.name for path in (root / "kernels").iterdir() if path.is_dir() and path.name != "__pycache__"}
        self.assertEqual(names - set(kernels.FOLDERS), {"attention", "cuda", "patterns"})


if __name__ == "__main__":
    unittest.main()
