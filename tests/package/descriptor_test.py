# tests/package/descriptor_test.py - descriptors that the host makes, as arguments of kernels.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
import os
import pathlib
import subprocess
import sys

import pytest
import torch

import tessera
import tessera.language as tl
import tessera.triton
from outliers import close_enough
from tessera import TensorDescriptor

FOLDER = pathlib.Path(__file__).parent / "for_triton"
TRITON = pathlib.Path(sys.prefix).parent / "triton-3.9"  # scripts/setup
ops = torch.ops.tessera
internal = torch.ops.tessera_internal
sys.path.insert(0, str(FOLDER))
with tessera.triton.installed():
    import descriptors


@tessera.jit
def read(source, OUT, BM: tl.constexpr, BN: tl.constexpr):
    at = tl.arange(0, BM)[:, None] * BN + tl.arange(0, BN)[None, :]
    tl.store(OUT + at, source.load([tl.program_id(0) * BM, 0]))


@tessera.jit
def add_rows(pair, weight, OUT, B: tl.constexpr):
    if weight is None:
        scale = 1.0
    else:
        scale = 2.0
    tl.store(OUT + tl.arange(0, B), (pair[0].load([0]) + pair[1].load([B])) * scale)


@tessera.jit
def accumulate(target, n, B: tl.constexpr):
    target.atomic_add([tl.program_id(0) * B], tl.full([B], 1, tl.int32))
    target.store([n], tl.zeros([B], tl.int32))


def block(descriptor, *sizes):
    out = torch.full(sizes, float("nan"))
    read[(1,)](descriptor, out, *sizes)
    return out


def compilations():
    compiled, loaded, *_ = ops.kernel_stats()
    return compiled + loaded


@pytest.fixture(scope="module")
def want(tmp_path_factory):
    """The results of Triton's interpreter."""
    assert TRITON.is_dir(), f"{TRITON} is missing: run scripts/setup"
    path = tmp_path_factory.mktemp("interpreter") / "results"
    done = subprocess.run([sys.executable, str(FOLDER / "descriptors.py"), str(path)], check=False, text=True, capture_output=True,
                          stdin=subprocess.DEVNULL, env={**os.environ, "PYTHONPATH": str(TRITON), "TRITON_INTERPRET": "1"})
    assert done.returncode == 0, done.stderr
    return torch.load(path)


class TestAsTriton:
    def test_results_are_those_of_the_interpreter(self, want, subtests):
        got = dict(descriptors.results())
        assert list(got) == list(want)
        for name, value in want.items():
            with subtests.test(name):
                assert not (name == "NaN") or value.isnan().any()
                limit = 2e-3 if name.startswith(("product", "attention")) else 0  # the order of the sums
                torch.testing.assert_close(got[name], value, rtol=limit, atol=limit, equal_nan=True)

    def test_autotuned_product(self):
        torch.manual_seed(1)
        a, b = torch.randn(40, 56).half(), torch.randn(72, 56).half()
        assert close_enough(descriptors.product(a, b), a.double() @ b.double().T, 2e-3) == ""
        assert descriptors.tuned.best_config in descriptors.CONFIGS
        assert len(descriptors.tuned.configs_timings) == 2


    def test_attention(self):
        torch.manual_seed(2)
        q, k, v = (torch.randn(80, 32).half() for _ in range(3))
        want = torch.nn.functional.scaled_dot_product_attention(*(x.double()[None] for x in (q, k, v)), is_causal=True, scale=0.2)[0]
        host, kernel = (descriptors.attention(q, k, v, described) for described in (True, False))
        assert close_enough(host, want, 2e-3) == ""
        assert torch.equal(host, kernel)


class TestArguments:
    x = torch.arange(30 * 24, dtype=torch.float32).view(30, 24)

    def test_values_change_without_a_new_compilation(self):
        descriptor = TensorDescriptor(self.x, [30, 24], [24, 1], [8, 16])
        assert torch.equal(block(descriptor, 8, 16), self.x[:8, :16])
        before = compilations()
        descriptor.shape, descriptor.strides, descriptor.base = [10, 10], [72, 1], self.x.clone()
        want = torch.nn.functional.pad(self.x[::3, :10][:8], (0, 6))
        assert torch.equal(block(descriptor, 8, 16), want)
        descriptor.shape = (3, 10)
        want[3:] = 0
        assert torch.equal(block(descriptor, 8, 16), want)
        assert compilations() == before
        descriptor.block_shape = [4, 16]
        assert torch.equal(block(descriptor, 4, 16), want[:4])
        descriptor.padding = "nan"
        assert block(descriptor, 4, 16).isnan().tolist() == [[i == 3 or j > 9 for j in range(16)] for i in range(4)]

    def test_memory_and_strides_need_no_alignment(self):
        memory = torch.arange(400, dtype=torch.float32)
        view = memory[3:].as_strided((7, 9), (11, 1))
        want = torch.nn.functional.pad(view, (0, 7, 0, 1))
        assert torch.equal(block(TensorDescriptor.from_tensor(memory[3:].as_strided((7, 9), (11, 1)), [8, 16]), 8, 16), want)

    def test_a_tensor_where_a_descriptor_was(self):
        x = torch.arange(40.)
        for described in (True, False, True):
            assert torch.equal(descriptors.either(x, described, False, False), x[:16])

    def test_in_tuples_and_absent(self):
        x, out = torch.arange(20.), torch.empty(8)
        pair = TensorDescriptor.from_tensor(x, [8]), TensorDescriptor.from_tensor(x[4:], [8])
        add_rows[(1,)](pair, None, out, 8)
        assert torch.equal(out, x[:8] + x[12:])
        add_rows[(1,)](pair, pair[0], out, 8)
        assert torch.equal(out, 2 * (x[:8] + x[12:]))
        add_rows[(1,)]((pair[1], pair[0]), None, out, 8)
        assert torch.equal(out, x[4:12] + x[8:16])

    def test_numbers_of_numpy(self):
        import numpy as np
        descriptor = TensorDescriptor(self.x, [np.int64(30), np.int32(24)], [np.int64(24), np.int64(1)], [np.int64(8), 16])
        assert torch.equal(block(descriptor, 8, 16), self.x[:8, :16])

    def test_warmup_and_the_compiled_kernel(self):
        descriptor, out = TensorDescriptor.from_tensor(self.x, [2, 8]), torch.empty(2, 8)
        compiled = read.warmup(descriptor, out, 2, 8, grid=(1,))
        before = compilations()
        compiled[(1,)](descriptor, out, 2, 8)
        assert torch.equal(out, self.x[:2, :8])
        assert compilations() == before

    def test_autotune_restores_and_resets_the_tensor(self, subtests):
        for option, want in (("restore_value", [6] * 8), ("reset_to_zero", [1] * 8)):
            with subtests.test(option):
                tuned = tessera.autotune([tessera.Config({"B": 4}), tessera.Config({"B": 8})], key=["target"],
                                         do_bench=lambda fn, quantiles: (fn(), fn(), [1.0] * 3)[2], **{option: ["target"]})(accumulate)
                target = torch.full((8,), 5, dtype=torch.int32)
                descriptor = TensorDescriptor.from_tensor(target, [4])
                for config in tuned.configs:
                    config.pre_hook = lambda arguments: setattr(arguments["target"], "block_shape", [arguments["B"]])
                tuned[lambda meta: (8 // meta["B"],)](descriptor, 8)
                assert target.tolist() == want
                assert len(tuned.cache) == 1
                tuned[lambda meta: (8 // meta["B"],)](TensorDescriptor(target[:4], [4], [1], [4]), 8)
                assert len(tuned.cache) == 2

    def test_tensors_without_memory(self):
        empty = TensorDescriptor.from_tensor(torch.empty(0, 24), [8, 16])
        assert torch.equal(block(empty, 8, 16), torch.zeros(8, 16))
        meta = torch.empty(30, 24, device="meta")
        read[(1,)](TensorDescriptor.from_tensor(meta, [8, 16]), torch.empty(8, 16, device="meta"), 8, 16)


class TestKernelFiles:
    TEXT = """import triton
import triton.language as tl

@triton.jit
def twice(source: "tl.tensor_descriptor[2]", targets: "tuple[tl.tensor_descriptor[2], tl.tensor]"):
    tl.static_assert(source.block_shape[1] == 16)
    targets[0].store([0, 0], source.load([8, 0]) * tl.load(targets[1]))
"""

    def test_the_annotation_declares_a_descriptor(self):
        """Launches the kernel as C++ programs do: the descriptor's fields are arguments."""
        x, y, two = torch.randn(20, 12), torch.zeros(8, 16), torch.tensor([2.0])
        number = internal.jit_kernel("twice.py", self.TEXT, "twice", "tssstssst", "source={'block_shape.0': 8, 'block_shape.1': 16}, "
                                     "targets={'0.block_shape.0': 8, '0.block_shape.1': 16}", "")
        internal.jit_launch(number, [x, y, two], [20, 12, 12, 8, 16, 16], 1, 1, 1)
        assert torch.equal(y[:, :12], 2 * x[8:16])
        assert not y[:, 12:].any()


class TestErrors:
    x = torch.zeros(30, 24)

    @pytest.mark.parametrize("fields, error, message", [
        (dict(base=[1.0]), TypeError, "base is a list\nHINT: pass a tensor"),
        (dict(base=torch.zeros(30, 24, dtype=torch.complex64)), TypeError,
         "base has the type torch.complex64, which kernels do not have\nHINT: pass a tensor of real numbers"),
        (dict(block_shape=[16]), ValueError, "shape has 2 dimensions, strides 2 and block_shape 1\nHINT: give all three the same"),
        (dict(shape=[], strides=[], block_shape=[]), ValueError, "shape has 0 dimensions, .*\n.*, 1 to 5$"),
        (dict(shape=[1] * 6, strides=[1] * 6, block_shape=[1] * 6), ValueError, "shape has 6 dimensions"),
        (dict(strides=[1, 24]), ValueError, "the last stride is 24, .*\nHINT: pass tensor.contiguous\\(\\), or"),
        (dict(block_shape=[8, 24]), ValueError, "block_shape contains 24, which is not a power of two\nHINT: pass triton.next_power"),
        (dict(block_shape=[0, 16]), ValueError, "block_shape contains 0, which"),
        (dict(block_shape=[2048, 1024]), ValueError, "the block has 2097152 elements\nHINT: make block_shape smaller"),
        (dict(block_shape=[8, 32.0]), TypeError, "block_shape contains 32.0\nHINT: pass integers"),
        (dict(shape=None), TypeError, "shape is None\nHINT: pass a list of integers"),
        (dict(block_shape=16), TypeError, "block_shape is 16\nHINT: pass a list of integers"),
        (dict(base=torch.zeros(30, 24).to_sparse()), TypeError, "base has the layout torch.sparse_coo\nHINT: pass base.to_dense"),
        (dict(shape=[30, None]), TypeError, "shape contains None\nHINT: pass integers"),
        (dict(shape=[1 << 31, 24]), ValueError, "shape contains 2147483648\nHINT: sizes are from 0 to 2\\^31 - 1"),
        (dict(shape=[-1, 24]), ValueError, "shape contains -1\n"),
        (dict(padding="inf"), ValueError, "padding is 'inf'\nHINT: pass \"zero\" or \"nan\""),
        (dict(base=torch.zeros(30, 24, dtype=torch.int32), padding="nan"), ValueError, "padding is \"nan\", and torch.int32 has no NaN"),
        (dict(base=torch.zeros(30, 24).half(), round_f32_to_tf32=True), ValueError, "round_f32_to_tf32 is set, and the elements are"),
    ])
    def test_fields(self, fields, error, message):
        given = dict(base=self.x, shape=[30, 24], strides=[24, 1], block_shape=[8, 16]) | fields
        with pytest.raises(error, match="^TensorDescriptor: " + message):
            TensorDescriptor(**given)
        descriptor = TensorDescriptor.from_tensor(self.x, [8, 16])
        vars(descriptor).update(given)
        with pytest.raises(error, match="^kernel `read`: argument `source`: " + message):
            read[(1,)](descriptor, torch.empty(8, 16), 8, 16)

    def test_a_dummy_block(self):
        with pytest.raises(ValueError, match="kernel `read`: argument `source`: the last dimension of block_shape is 1, and has 4 "
                                             "bytes\nHINT: set desc.block_shape before the launch; .* 4 elements, 16 bytes"):
            read[(1,)](TensorDescriptor.from_tensor(self.x, [1, 1]), torch.empty(8, 16), 8, 16)

    def test_in_a_tuple(self):
        descriptor = TensorDescriptor.from_tensor(torch.zeros(20), [8])
        with pytest.raises(ValueError, match="kernel `add_rows`: argument `pair.1`: the last dimension"):
            add_rows[(1,)]((descriptor, TensorDescriptor.from_tensor(torch.zeros(20), [2])), None, torch.empty(8), 8)

    def test_sizes_past_their_type_after_a_launch(self):
        descriptor = TensorDescriptor.from_tensor(self.x, [8, 16])
        block(descriptor, 8, 16)
        for size in (1 << 31, 1 << 32, -1):
            descriptor.shape = [size, 24]
            with pytest.raises(ValueError, match=f"`source`: shape contains {size}\nHINT: sizes"):
                block(descriptor, 8, 16)

    @pytest.mark.parametrize("fields", [dict(shape=[31, 24]), dict(shape=[30, 25]), dict(strides=[25, 1]), dict(strides=[-24, 1]), dict(base=torch.zeros(0))])
    def test_an_array_past_the_memory(self, fields):
        descriptor = TensorDescriptor.from_tensor(self.x, [8, 16])
        block(descriptor, 8, 16)
        vars(descriptor).update(fields)
        with pytest.raises(ValueError, match="`source`: shape .* reach past the memory of base, a tensor of shape \\[.*\\]\nHINT: strides"):
            block(descriptor, 8, 16)

    def test_memory_of_the_storage_is_enough(self):
        rows = TensorDescriptor(self.x[10:20], [20, 24], [24, 1], [8, 16])
        assert torch.equal(block(rows, 8, 16), self.x[10:18, :16])
        upwards = TensorDescriptor(self.x[29:], [30, 24], [-24, 1], [8, 16])
        assert torch.equal(block(upwards, 8, 16), self.x.flip(0)[:8, :16])
        one = TensorDescriptor(self.x[29, 8:], [1, 16], [1 << 40, 1], [8, 16])
        assert torch.equal(block(one, 8, 16)[0], self.x[29, 8:])

    def test_memory_that_was_freed(self):
        x, out = torch.zeros(30, 24), torch.empty(8, 16)
        descriptor = TensorDescriptor.from_tensor(x, [8, 16])
        x.untyped_storage().resize_(0)
        message = ""
        try:  # pytest would print the tensor, and torch reads its memory
            read[(1,)](descriptor, out, 8, 16)
        except ValueError as error:
            message = str(error)
        assert "`source`: shape [30, 24] and strides [24, 1] reach past the memory of base" in message

    def test_a_block_of_floats_after_a_launch(self):
        descriptor = TensorDescriptor.from_tensor(self.x, [8, 16])
        block(descriptor, 8, 16)
        descriptor.block_shape = [8.0, 16.0]
        with pytest.raises(TypeError, match="block_shape contains 8.0\nHINT: pass integers"):
            block(descriptor, 8, 16)

    def test_as_a_constexpr(self):
        @tessera.jit
        def known(D: tl.constexpr):
            D.load([0])
        with pytest.raises(TypeError, match="constexpr `D` is TensorDescriptor"):
            known[(1,)](TensorDescriptor.from_tensor(torch.zeros(20), [8]))

    def test_branches_that_read_differently(self):
        @tessera.jit
        def chosen(one, other, flag, OUT):
            source = one
            if flag > 0:
                source = other
            tl.store(OUT + tl.arange(0, 8), source.load([0]))
        x, out = torch.randn(8), torch.empty(8)
        options = {"": dict(), "padding": dict(padding="nan"), "rounding": dict(round_f32_to_tf32=True)}
        for name, different in options.items():
            pair = TensorDescriptor.from_tensor(torch.zeros(8), [8]), TensorDescriptor.from_tensor(x, [8], **different)
            if name:
                with pytest.raises(RuntimeError, match="`source`"):
                    chosen[(1,)](*pair, 2, out)
            else:
                chosen[(1,)](*pair, 2, out)
                assert torch.equal(out, x)

    def test_use_in_the_kernel_names_the_location(self):
        @tessera.jit
        def wrong(source, OUT):
            tl.store(OUT + tl.arange(0, 8), source.load([0, 0]))
        with pytest.raises(RuntimeError, match=r"descriptor_test.py:\d+:\d+: error: .*`offsets` has 2 entries for 1 dim[^^]*source.load"):
            wrong[(1,)](TensorDescriptor.from_tensor(torch.zeros(20), [8]), torch.empty(8))
