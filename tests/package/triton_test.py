# tests/package/triton_test.py - a module written for Triton runs unchanged, and the real Triton is not imported.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
import contextlib
import io
import os
import pathlib
import subprocess
import sys
import tempfile

import pytest
import torch

import tessera
import tessera.triton
from outliers import close_enough
from repository import ROOT

FOLDER = pathlib.Path(__file__).parent / "for_triton"
ON_GPU = os.environ.get("TESSERA_DEVICE", "cpu") != "cpu"
sys.path.insert(0, str(FOLDER))
sys.path.insert(1, str(ROOT / "kernels/tutorials"))
with tessera.triton.installed():
    import launchers
    import layer_norm
    import matmul
    import softmax
    import tutorials


def child(code):
    """What a Python of its own prints, tessera imported."""
    done = subprocess.run([sys.executable, "-c", "import sys, tessera\n" + code], text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, check=False)
    return done.stdout


class TestTutorials:
    def setup_method(self):
        torch.manual_seed(0)

    def test_vector_add(self):
        size = 3000 if ON_GPU else 98432
        x, y = torch.rand(size), torch.rand(size)
        assert torch.equal(tutorials.add(x, y), x + y)

    def test_softmax(self):
        x = torch.randn(7 if ON_GPU else 181, 78 if ON_GPU else 781)
        torch.testing.assert_close(tutorials.softmax(x), torch.softmax(x, 1))

    def test_matmul_with_autotune(self, subtests):
        for dtype, limit in ((torch.float32, 2e-2 if ON_GPU else 1e-4), (torch.float16, 2e-2)):
            for activation in ("", "leaky_relu"):
                with subtests.test(dtype=dtype, activation=activation):
                    a, b = torch.randn(70, 50).to(dtype), torch.randn(50, 90).to(dtype)
                    want = a.double() @ b.double()
                    if activation:
                        want = torch.nn.functional.leaky_relu(want)
                    got = tutorials.matmul(a, b, activation).double()
                    assert close_enough(got, want, limit) == ""
        assert tutorials.matmul_kernel.best_config in tutorials.CONFIGS
        assert len(tutorials.matmul_kernel.configs_timings) == 2

    def test_dropout(self):
        x = torch.randn(1000)
        keep = (torch.rand(1000) > 0.5).to(torch.int32)
        torch.testing.assert_close(tutorials.dropout(x, keep, 0.5), torch.where(keep == 1, 2 * x, 0.0))

    def test_seeded_dropout(self):
        x = torch.randn(10_000)
        one, same, other = (tutorials.seeded_dropout(x, 0.3, seed) for seed in (123, 123, 512))
        assert torch.equal(one, same)
        assert not torch.equal(one, other)
        kept = one != 0
        torch.testing.assert_close(one[kept], x[kept] / 0.7)
        assert abs(kept.double().mean().item() - 0.7) < 0.02

    def test_layer_norm(self):
        x = torch.randn(9, 150, requires_grad=True)
        w, b = torch.rand(150, requires_grad=True), torch.rand(150, requires_grad=True)
        dy = torch.randn(9, 150)
        got = tutorials.LayerNorm.apply(x, w, b, 1e-5)
        want = torch.nn.functional.layer_norm(x, (150,), w, b, 1e-5)
        torch.testing.assert_close(got, want)
        for ours, theirs in zip(torch.autograd.grad(got, (x, w, b), dy), torch.autograd.grad(want, (x, w, b), dy)):
            torch.testing.assert_close(ours, theirs, atol=1e-4, rtol=1e-4)

    def test_libdevice_and_heuristics(self):
        for size in (128, 100):
            x = torch.rand(size)
            torch.testing.assert_close(tutorials.asin(x), torch.asin(x))

    def test_our_own_tutorials(self):
        a, b, c = torch.randn(40, 24), torch.randn(24, 56), torch.empty(40, 56)
        matmul.matmul[(4,)](a, b, c, 40, 56, 24, 24, 56, 56, BM=32, BN=32, BK=16, ROWS=2, LEAKY=1)
        want = torch.nn.functional.leaky_relu(a.double() @ b.double())
        assert close_enough(c, want, 1e-2 if ON_GPU else 1e-5) == ""
        x, w, bias = torch.randn(6, 100), torch.randn(100), torch.randn(100)
        y, mean, rstd = torch.empty(6, 100), torch.empty(6), torch.empty(6)
        layer_norm.layer_norm_fwd[(6,)](x, w, bias, y, mean, rstd, 100, 100, 1e-5, BLOCK=32)
        torch.testing.assert_close(y, torch.nn.functional.layer_norm(x, (100,), w, bias))
        softmax.softmax[(6,)](x, y, 6, 100, 100, 100, BLOCK=128)
        torch.testing.assert_close(y, x.softmax(1))

    def test_the_module_around_kernels(self):
        assert tutorials.DEVICE == torch.device("cpu")
        assert not tutorials.is_cuda()
        [rows] = tutorials.benchmark.run(print_data=False)
        assert [row[0] for row in rows] == [16, 32]
        assert all(value > 0 for row in rows for value in row[1:])

    def test_programs_that_fill_the_device(self):
        x = torch.rand(9, 100)
        y, programs = launchers.occupied(x)
        torch.testing.assert_close(y, x / x.sum(1, keepdim=True))
        assert 1 <= programs <= 9

    def test_configurations_for_several_back_ends(self):
        a, b = torch.randn(20, 50, dtype=torch.float16), torch.randn(50, 36, dtype=torch.float16)
        for activation in ("", "leaky_relu"):
            c, compiled = launchers.product(a, b, activation)
            want = a.double() @ b.double()
            if activation:
                want = torch.nn.functional.leaky_relu(want, 0.01)
            assert ((c.double() - want).abs() / (want.abs() + 1)).max().item() < 2e-3
            assert compiled.metadata.num_warps == 4
        if ON_GPU:
            assert ".entry" in compiled.asm["ptx"]
        else:
            with pytest.raises(KeyError, match="no stage `ptx`"):
                compiled.asm["ptx"]

    def test_options_of_other_back_ends(self):
        x, y = torch.rand(4, 16), torch.empty(4, 16)
        for options in launchers.OPTIONS:
            launchers.scale_rows[(2,)](y.zero_(), x, 16, 4, 16, BLOCK=16, num_stages=2, **options)
            torch.testing.assert_close(y, x / x.sum(1, keepdim=True))

    def test_reinterpret(self):
        x = torch.randn(50, dtype=torch.float16)
        assert launchers.reinterpreted(x).tolist() == x.to(torch.float8_e5m2).to(torch.float16).tolist()

    def test_descriptors_have_the_fields_of_triton(self):
        one, other = launchers.descriptor(torch.zeros(8, 8))
        assert (one.block_shape, list(other.strides), one.padding, one.round_f32_to_tf32) == ([4, 4], [8, 1], "zero", False)

    def test_reports_of_benchmarks(self):
        with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(io.StringIO()) as printed:
            with tessera.triton.installed():
                first, second = launchers.benchmark.run(show_plots=True, print_data=True, save_path=folder)
            saved = (pathlib.Path(folder) / "rows-torch.float32.csv").read_text().splitlines()
        assert [row[0] for row in first] == [(4, 64), 32]
        assert saved[0] == "M,N,Ours (GB/s),Torch (GB/s)"
        assert saved[1].split(",") == ["4", "64", str(first[0][1][0]), str(first[0][2][0])]
        assert "rows-torch.float64: M N Ours (GB/s) Torch (GB/s)\n" in printed.getvalue()
        assert len(second) == 2


class TestShim:
    def test_not_the_real_one(self):
        assert tutorials.triton.jit is tessera.jit
        assert not [name for name in sys.modules if name.split(".")[0] == "triton"]

    def test_only_when_asked_for(self):
        assert child("print('triton' in sys.modules, 'tessera.triton' in sys.modules)") == "False False\n"
        assert child("import tessera.triton; print('triton' in sys.modules)") == "False\n"

    def test_install_and_uninstall(self):
        code = """
import tessera.triton
tessera.triton.install()
tessera.triton.install()
import triton, triton.language as tl
from triton.language import load, float32
from triton.language.extra.cuda import libdevice
from triton.runtime.autotuner import Autotuner
assert triton.jit is tessera.jit and tl is tessera.language and float32 is tessera.language.float32
with tessera.triton.installed():
    pass
assert 'triton' in sys.modules
import triton.compiler, triton.knobs, triton.runtime.errors, triton.tools.tensor_descriptor
triton.knobs.runtime.debug = True
assert triton.knobs.runtime.debug and triton.knobs.autotuning.print is None
triton.set_allocator(lambda *sizes: None)
import torch
assert callable(torch.cpu.set_stream)
tessera.triton.uninstall()
assert not hasattr(torch.cpu, 'set_stream')
print([name for name in sys.modules if name.split('.')[0] == 'triton'])
"""
        assert child(code) == "[]\n"

    def test_version_is_that_of_the_language(self):
        assert tutorials.triton.__version__ == tessera.triton.VERSION == "3.9.0"
        for name in ("squeeze", "atomic_load", "make_tensor_descriptor"):  # 3.9 has all of them, 3.6 not the first two
            assert hasattr(tutorials.tl, name), name

    def test_back_ends_and_profiler(self):
        code = """
import tessera.triton
tessera.triton.install()
import triton, triton.profiler as proton
from triton.backends import backends
from triton.backends.compiler import BaseBackend, GPUTarget
from triton.backends.driver import DriverBase
from triton.compiler.compiler import CompiledKernel
target = triton.runtime.driver.active.get_current_target()
assert target == GPUTarget('cpu', 'cpu', 1) and len({target, GPUTarget('cuda', 90, 32)}) == 2
assert BaseBackend(target).target is target and CompiledKernel is triton.compiler.CompiledKernel
assert list(backends) == [] and isinstance(DriverBase(), DriverBase)
session = proton.start('rows', hook='triton')
proton.deactivate(session)
with proton.scope('part', {'flops': 3}):
    proton.activate(session)
@proton.profile
def f():
    return 4
@proton.profile(name='rows')
@proton.scope('part')
def g():
    return 5
proton.finalize()
print(f() + g())
"""
        assert child(code) == "9\n"

    def test_torch_compile_does_not_take_it_for_triton(self):
        code = """
import tessera.triton, torch.utils._triton as known
before = known.has_triton_package
with tessera.triton.installed():
    import torch._inductor.runtime.hints
    print(known.has_triton_package())
print(known.has_triton_package is before)
"""
        assert child(code) == "False\nTrue\n"

    def test_torch_compile_loads_while_installed(self):
        """The first torch.compile of a process imports torch._inductor, which would import Triton's compiler."""
        code = """
import sys, tessera.triton, torch
with tessera.triton.installed():
    double = torch.compile(lambda x: 2 * x, backend="aot_eager")
    print(double(torch.ones(3)).tolist())
    import torch._inductor.runtime.triton_compat as known
    print(known.HAS_TRITON, sys.modules["triton"] is tessera.triton._installed["triton"])
print("triton" in sys.modules, any("WithoutTriton" in repr(finder) for finder in sys.meta_path))
"""
        assert child(code) == "[2.0, 2.0, 2.0]\nFalse True\nFalse False\n"

    def test_triton_was_first(self):
        code = """
import types
sys.modules['triton'] = types.ModuleType('triton')
import tessera.triton
try:
    tessera.triton.install()
except RuntimeError as error:
    print(error)
"""
        assert child(code) == ("triton is imported in this process already, from elsewhere\n"
                                      "HINT: call tessera.triton.install() before the first import of triton\n")
