# kernels/attention/configs.py - the configurations of triton.autotune that kernels of attention share.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
import triton


def tile_configs(sizes):
    """A configuration for each (BM, BN, num_warps, num_stages); the first is the default."""
    return [triton.Config({"BM": rows, "BN": keys}, num_warps=warps, num_stages=stages) for rows, keys, warps, stages in sizes]


# At head width 128 a warp with 32 rows executes 0.31 shared-memory loads per mma instruction; with 16 rows, 0.5.
FORWARD_CONFIGS = tile_configs([(128, 64, 4, 2), (64, 64, 4, 2), (128, 64, 8, 2), (64, 32, 4, 3)])
DQ_CONFIGS = tile_configs([(128, 32, 4, 1), (64, 64, 4, 1), (64, 64, 8, 2), (64, 32, 4, 2), (32, 64, 4, 2)])
TOKEN_CONFIGS = [triton.Config({"BN": 64}, num_warps=4, num_stages=2), triton.Config({"BN": 32}, num_warps=2, num_stages=3)]
DKDV_CONFIGS = tile_configs([(64, 64, 4, 2), (32, 64, 4, 2), (64, 64, 8, 1), (64, 64, 4, 1), (64, 32, 4, 2)])
ORDERED_CONFIGS = tile_configs([(64, 128, 8, 2), (64, 64, 8, 2), (64, 64, 4, 2), (32, 64, 4, 2)])
