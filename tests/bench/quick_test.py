# tests/bench/quick_test.py - the quick form of the benchmarks that take seconds: a row is measured and no row fails.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
import json
import subprocess
import sys

import pytest
from repository import BUILD, ROOT

# A number of the first record and what it must be; small sizes may miss their targets, so the exit status is 0 or 1.
FIRST = {
    "attention": lambda record: min(record["ms"].values()) > 0 and len(record["ms"]) == 4,
    "padding": lambda record: record["executed"] >= record["needed"] > 0,
    "patterns": lambda record: record["pattern"] == "window" and min(record["ms"].values()) > 0 and 0 < record["visible_share"] < 1,
    "python_launch": lambda record: record["name"] == "tessera.jit" and record["us"] > 0,
    "sectors": lambda record: record["sectors"] >= record["least"] > 0,
    "selected": lambda record: record["kernel"] == "token" and 0 < record["useful"] <= 1,
    "selected_cpu": lambda record: min(record["ms"].values()) > 0 and record["difference"] < 1e-4,
    "selected_keys": lambda record: record["misfit"] == 0 and record["warp_far"] == 2 * record["warp"],
    "simulator_speed": lambda record: record["lane_instructions_per_s"] > 1e5,
    "spills": lambda record: record["new"]["registers"] > 0,
    "sweep": lambda record: record["of_cmp"] == 1 and record["tensor"] > 0,
    "tokenizer": lambda record: min(record["mb_per_s"].values()) > 0 and record["tokens"] > 1e6,
}


@pytest.mark.parametrize(("name", "tile"), [("select_fwd", 1), ("select_lists", 5), ("select_list_fwd", 5), ("select_list_bwd_dq", 4)])
def test_programs_of_selected_serve_the_tokens_of_the_windows(name, tile):
    import selected
    tokens, windows = 4000, [80, 1600]
    along = tokens // tile + 1
    # As the kernels number their tiles: tile = num_programs(0) - 1 - program_id(0) in those that walk lists.
    tiles = [along - 1 - n if name.startswith("select_list_") else n for n in selected.programs(name, tile, along, windows)]
    served = [t for n in tiles for t in range(n * tile, (n + 1) * tile)]
    assert served == [*range(80, 160), *range(1600, 1680)]


@pytest.mark.parametrize("name", FIRST)
def test_quick(name, tmp_path):
    done = subprocess.run([sys.executable, str(ROOT / "bench/run.py"), name, "--quick", "--build", str(BUILD), "--out", str(tmp_path / "out.json")],
                          capture_output=True, text=True)
    assert done.returncode in (0, 1), done.stderr
    result = json.loads((tmp_path / "out.json").read_text())
    assert result["quick"] and result["benchmark"] == name and result["rows"], done.stdout + done.stderr
    assert not [record for record in result["rows"] if "failed" in record], done.stdout
    assert FIRST[name](result["rows"][0]), result["rows"][0]
