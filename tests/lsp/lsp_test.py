# tests/lsp/lsp_test.py - a client edits a kernel: mistakes, types, definitions, completion, layouts.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
import subprocess
import time

import pytest
from lsp_client import Client
from repository import PROGRAM

KERNEL = """import triton
import triton.language as tl
from helper import rows

# tessera: instance f32(x="*fp32:16", y="*fp32:16", n="i32", N=64)
# tessera: instance f16(x="*fp16:16", y="*fp16:16", n="i32", N=128)
@triton.jit
def add_one(x, y, n, N: tl.constexpr):
    i = tl.program_id(0) * N + tl.arange(0, N)  # naïve – 𝄞
    value = tl.load(x + i, mask=i < n)
    pair = rows(value, N); total = tl.sum(pair, axis=0)
    tl.store(y + i, value + tl.sum(total), mask=i < n)
"""
HELPER = """import triton
import triton.language as tl


@triton.jit
def rows(value, N: tl.constexpr):
    return tl.reshape(value, [4, N // 4])
"""


class TestLsp:
    @pytest.fixture(autouse=True)
    def files(self, tmp_path, cleanups):
        self.folder, self.cleanups = tmp_path.resolve(), cleanups
        self.kernel = self.folder / "add_one.py"
        self.kernel.write_text(KERNEL)
        self.helper = self.folder / "helper.py"
        self.helper.write_text(HELPER)

    def start(self, *options):
        client = Client(PROGRAM, *options)
        self.cleanups.callback(client.process.stdout.close)
        self.cleanups.callback(client.process.stdin.close)
        self.cleanups.callback(client.process.kill)
        assert "capabilities" in client.ask("initialize", processId=None, rootUri=None, capabilities={})
        client.tell("initialized")
        return client

    def hover(self, client, mark, offset=0):
        found = client.at("hover", self.kernel, KERNEL, mark, offset)
        return found and found["contents"]["value"]

    def test_a_mistake_in_derived_text_is_shown_in_the_first_line(self):
        """A pattern's kernels are not in the edited text, so a line of them cannot be marked."""
        pattern = self.folder / "mine.py"
        text = ("import triton\nimport triton.language as tl\n\n\n# tessera: pattern(window=64)\n@triton.jit\n"
                "def sees(t, pos, window: tl.constexpr):\n    return (pos <= t) & (t - pos < window)\n\n\n"
                "@triton.jit\ndef key_range(t0, t1, length):\n    return 0, 0, 0, length\n")
        client = self.start()
        client.open(pattern, text)
        found = client.diagnostics(pattern)
        assert found and all(one["range"]["start"]["line"] < text.count("\n") for one in found), found
        assert any("of the derived text (tessera compile --emit pattern" in one["message"] for one in found), found

    def test_types_definitions_and_completion(self):
        client = self.start()
        wrong = KERNEL.replace("value + tl.sum(total)", "value + pair")
        client.open(self.kernel, wrong)
        found = client.diagnostics(self.kernel)
        assert len(found) == 2, found  # an instance each: other shapes
        line = KERNEL.split("\n").index("    tl.store(y + i, value + tl.sum(total), mask=i < n)")
        for one in found:
            assert (one["severity"], one["range"]["start"]["line"]) == (1, line)
        assert "[64]" in found[0]["message"]

        client.change(self.kernel, KERNEL)
        assert client.diagnostics(self.kernel) == []
        assert "value: fp32[64]" in self.hover(client, "value = ")
        assert "pair: fp32[4, 16]" in self.hover(client, "pair = ")
        # Characters count in UTF-16; on this line only ASCII precedes them, on the other line not.
        assert "total: fp32[16]" in self.hover(client, "total = ")
        assert "load(pointer" in self.hover(client, "tl.load", 4)
        assert "n: int32" in self.hover(client, "i < n", 4)
        assert self.hover(client, "# naïve") is None

        place = client.at("definition", self.kernel, KERNEL, "rows(value", 1)
        assert place["uri"] == self.helper.as_uri()
        assert place["range"]["start"] == {"line": 5, "character": 4}
        assert "def rows(value, N: tl.constexpr):" in self.hover(client, "rows(value", 1)

        typed = KERNEL + "    tl.\n"
        client.change(self.kernel, typed)
        names = [item["label"] for item in client.at("completion", self.kernel, typed, "    tl.\n", 7)]
        assert "atomic_add" in names
        assert len(names) == len(set(names))
        # What was known before the mistake serves.
        assert "value: fp32[64]" in self.hover(client, "value = ")
        assert client.end() == 0

    def test_a_mistake_in_an_import_is_told_in_both_files(self):
        client = self.start()
        self.helper.write_text(HELPER.replace("tl.reshape", "tl.reshap"))
        client.open(self.kernel, KERNEL)
        by_file = {}
        while len(by_file) < 2:
            message = client.receive()
            by_file[message["params"]["uri"]] = message["params"]["diagnostics"]
        assert "helper.py:7" in by_file[self.kernel.as_uri()][0]["message"]
        assert by_file[self.helper.as_uri()][0]["range"]["start"]["line"] == 6
        # The editor's text counts, not the disk's.
        client.open(self.helper, HELPER)
        assert client.diagnostics(self.kernel) == []
        assert client.end() == 0

    def test_the_instance_that_is_asked_for(self):
        client = self.start("--instance", "f16")
        client.open(self.kernel, KERNEL)
        assert client.diagnostics(self.kernel) == []
        assert "value: fp16[128]" in self.hover(client, "value = ")
        assert client.end() == 0

    def test_tuples_and_functions_as_arguments(self):
        text = """from typing import NamedTuple
import triton
import triton.language as tl


class Rows(NamedTuple):
    ptr: tl.tensor
    step: tl.tensor


@triton.jit
def twice(value):
    return value * 2


# tessera: instance f32(q="Rows(*fp32:16, i32)", F=twice)
@triton.jit
def k(q: Rows, F: tl.constexpr):
    i = tl.arange(0, 16)
    value = F(tl.load(q.ptr + i * q.step))
    tl.store(q.ptr + i, value)
"""
        client = self.start()
        client.open(self.kernel, text)
        assert client.diagnostics(self.kernel) == []
        hover = lambda mark, offset=0: client.at("hover", self.kernel, text, mark, offset)["contents"]["value"]
        assert "value: fp32[16]" in hover("value = F")
        assert "a tuple of 2" in hover("q.step")
        assert "def twice(value)" in hover("F(tl.load")
        client.change(self.kernel, text.replace("q.step", "q.stpe"))
        found = client.diagnostics(self.kernel)
        assert "has no attribute `stpe`" in found[0]["message"] and "did you mean `step`?" in found[0]["message"]
        assert client.end() == 0

    def test_layouts_of_a_target(self):
        client = self.start("--target", "sm_80")
        client.open(self.kernel, KERNEL)
        assert client.diagnostics(self.kernel) == []
        text = self.layouts(client, "value = ")
        assert "tile.load: 64 f32" in text
        assert "lane: (1) (2) (4) (8) (16)" in text
        assert "i32" not in text.split("Layouts")[0]
        # The hover has no layouts of another shape.
        assert ": 16 f32" in (text := self.layouts(client, "total = "))
        assert "4x16" not in text
        # They follow the file.
        other = KERNEL.replace("N=64", "N=256")
        self.kernel.write_text(other)
        client.change(self.kernel, other)
        assert client.diagnostics(self.kernel) == []
        assert "tile.load: 256 f32" in self.layouts(client, "value = ")
        assert client.end() == 0

    def layouts(self, client, mark):
        text = self.hover(client, mark)
        until = time.monotonic() + 120
        while "compiling for sm_80" in text and time.monotonic() < until:
            text = self.hover(client, mark)
        assert "Layouts on sm_80" in text
        return text

    def test_an_edit_that_never_ends_does_not_stop_the_server(self):
        client = self.start()
        client.open(self.kernel, KERNEL.replace("    tl.store", "    for j in tl.static_range(1000000):\n        "
                                                "total += j\n    tl.store"))
        found = client.diagnostics(self.kernel)
        assert found[0]["severity"] == 1
        client.change(self.kernel, KERNEL)
        assert client.diagnostics(self.kernel) == []
        assert client.end() == 0

    def test_what_is_no_client(self):
        done = subprocess.run([PROGRAM, "lsp"], input="hello\r\n\r\n", text=True, capture_output=True, check=False,
                              timeout=30)
        assert done.returncode == 1
        assert "as editors do" in done.stderr
        # An editor that has gone: not an error to talk about, but no success either.
        done = subprocess.run([PROGRAM, "lsp"], input="", text=True, capture_output=True, check=False, timeout=30)
        assert (done.returncode, done.stdout, done.stderr) == (1, "", "")
        done = subprocess.run([PROGRAM, "lsp", "--target", "sm_1"], input="", text=True, capture_output=True,
                              check=False, timeout=30)
        assert done.returncode == 1
        assert "sm_1" in done.stderr
