# tests/simulator/launcher_test.py - which module launches the kernels of tests/triton, and with which settings.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
import os
import subprocess
import sys

import pytest
import simulator
import simulator_launcher
from repository import ROOT
from simulator_launcher import torch

PATH = os.pathsep.join(str(ROOT / "tests" / folder) for folder in ("helpers", "simulator", "triton"))
PRINT = "import launcher; print(launcher.__name__, *([launcher.own, launcher.tf32, launcher.options] if 'own' in vars(launcher) else []))"
USUAL = "{'num_warps': 4, 'num_stages': 3, 'enable_fp_fusion': True}"


@pytest.mark.parametrize("settings, code, printed", (
    pytest.param({}, PRINT, "interpreter_launcher", id="interpreter"),
    pytest.param({"SIMULATE": ""}, PRINT, f"simulator_launcher False False {USUAL}", id="Triton's PTX"),
    pytest.param({"SIMULATE": "compiler=tessera precision=tf32 warps=8 stages=5 fusion=0"}, PRINT,
                 "simulator_launcher True True {'num_warps': 8, 'num_stages': 5, 'enable_fp_fusion': False}", id="our PTX"),
    pytest.param({}, "import sys, simulator_launcher, forward_test, backward_test\n"
                 "print({test.launch.__module__ for test in (backward_test, sys.modules['cases'])})", "{'simulator_launcher'}", id="imported before"),
))
def test_launcher(settings, code, printed):
    environment = {name: value for name, value in os.environ.items() if name != "SIMULATE"}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment | settings | {"PYTHONPATH": PATH})
    assert (done.returncode, done.stdout.strip()) == (0, printed), done.stderr


@pytest.mark.parametrize("compiler, kind", (("triton", simulator.Compiled), ("tessera", simulator.OwnCompiled)), ids=("triton", "tessera"))
def test_compiler(compiler, kind):
    simulator_launcher.use(compiler=compiler)
    x, out = torch.ones(4, 64), simulator_launcher.fresh(64)
    simulator_launcher.launch("nn/reduce_rows.py", "reduce_rows", (1,), x, out, 4, 64, BC=64)
    assert isinstance(simulator.last, kind)
    simulator_launcher.equal("sums", out, torch.full((64,), 4.0))


def test_ptxas_refuses_other_text():
    kernel = ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry empty() { %s ret; }\n"
    simulator.check_syntax(kernel % "", "sm_80")
    with pytest.raises(simulator.SimError, match="ptxas refuses the PTX"):
        simulator.check_syntax(kernel % "mov.b33 %a, %b;", "sm_80")
