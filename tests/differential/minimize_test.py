# tests/differential/minimize_test.py - generator and minimizer: same text for a seed, small result, injected differences found.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
import os
import tempfile

import run
from minimize import minimize
from program import generate

run.torch.ops.load_library(os.environ["LIBTESSERA_TORCH"])


class TestGenerator:

    def test_a_seed_names_one_kernel(self):
        for seed in range(20):
            assert generate(seed).text == generate(seed).text
        assert len({generate(seed).text for seed in range(50)}) == 50

    def test_the_constructs_of_the_language_occur(self):
        text = "".join(generate(seed).text for seed in range(100))       # the kernels of CI
        missing = [word for word in ("for ", "while ", "tl.reduce", "tl.associative_scan", "if ", "else:", "tl.dot", "tl.trans",
                                     "tl.permute", "tl.reshape", "tl.join", "tl.split",
                     "tl.sum", "tl.max(", "tl.argmax", "tl.cumsum", "tl.cumprod", "tl.xor_sum", "reverse=True", "tl.where",
                     "make_block_ptr", "tl.advance", "boundary_check", "tl.atomic_add", "tl.atomic_xor", "tl.gather",
                     "tl.flip", "bitcast=True", "tl.float16", "tl.bfloat16", "tl.float64", "tl.uint8", "tl.static_range",
                     "//", "%", ">>", "<<", "mask=", "other=", "tl.cdiv", "tl.fma", "tl.exp", "return ") if word not in text]
        assert missing == []


class TestMinimizer:

    def test_what_does_not_matter_goes(self):
        text = "def k():\n    a = 1\n    if a:\n        b = 2\n        c = 3\n    else:\n        d = 4\n    e = 5\n"
        assert minimize(text, lambda t: "c = 3" in t) == "def k():\n    c = 3\n"


class TestInjectedDifference:
    """One changed element, inside and outside of what the kernel stores, is reported."""

    def test_a_wrong_element_is_found(self):
        case = generate(0)
        with tempfile.TemporaryDirectory() as folder:
            want, got = run.execute(case, case.text, folder)
            assert run.difference(case, want, got) is None
            out = next(b for b in case.buffers if b.errors)
            base = next(iter(out.errors))
            got[out.name][base] += 1
            assert "%s[%d]" % (out.name, base) in run.difference(case, want, got)
            got[out.name][base] -= 1
            got[out.name][case.segment - 1] += 1        # a stray write
            assert "%s[%d]" % (out.name, case.segment - 1) in run.difference(case, want, got)
