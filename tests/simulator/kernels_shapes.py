# tests/simulator/kernels_shapes.py - shapes with the constants of the `# tessera: instance` comments.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
import cases
from launcher import torch

# Sequences as short as still reach every branch.
INSTANCES = dict(
    quick=cases.Shape([77, 40], hkv=1, group=3, dim=32, vdim=32, l=16, d=8, lsel=32, n=6, w=128, bm=64, bn=32),
    d64=cases.Shape([150], hkv=1, group=4, dim=64, vdim=64, l=32, d=16, lsel=64, n=16, w=512, bm=64, bn=64),
    paper=cases.Shape([70], hkv=1, group=16, dim=192, vdim=128, l=32, d=16, lsel=64, n=16, w=512, bm=64, bn=64,
                      dtype=torch.bfloat16))


def instances(quick=False):
    return [INSTANCES["quick"]] if quick else list(INSTANCES.values())
