# tests/simulator/kernels_test.py - the programs of tests/triton on the simulator: every kernel file as Triton's PTX, against fp64.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
"""kernels_test.py PROGRAM [compiler=triton|tessera] [precision=ieee|tf32] [warps=N] [stages=N] [SHAPE...]

PROGRAM is forward, backward or nn; SHAPE numbers the shapes of tests/triton/cases.py, or is `instances`: shapes with the
constexprs of the `# tessera: instance` comments (quick, d64, paper)."""
import pathlib
import runpy
import sys

HERE = pathlib.Path(__file__).resolve().parent
TRITON = HERE.parent / "triton"
sys.path[:0] = [str(HERE), str(TRITON)]

import simulator_launcher as launcher  # noqa: E402

program, settings, shapes = sys.argv[1], {}, []
for argument in sys.argv[2:]:
    name, equals, value = argument.partition("=")
    if equals:
        settings[name] = int(value) if value.isdigit() else value
    else:
        shapes.append(argument)
launcher.use(**settings)

if program != "nn":
    import cases
    from kernels_shapes import INSTANCES
    chosen = []
    for shape in shapes:
        if shape == "instances":
            chosen += INSTANCES.values()
        elif shape in INSTANCES:
            chosen.append(INSTANCES[shape])
        else:
            chosen.append(cases.SHAPES[int(shape)])
    cases.chosen = lambda: chosen or cases.SHAPES
sys.argv = [program]
runpy.run_path(str(TRITON / f"{program}_test.py"), run_name="__main__")
