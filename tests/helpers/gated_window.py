# tests/helpers/gated_window.py - kernels of attention over a dilated window, with a learned gate for each token and head.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
import re

from repository import ROOT

FILE = ROOT / "kernels/tutorials/dilated_window.py"


def text():
    """Returns the text of FILE, changed so that o = sigmoid(GATE) * attention, as docs/authoring.md describes."""
    made = re.sub(r"# tessera: instance.*\n", "", FILE.read_text())
    at = "(start + t) * sgatet + (group * G + head) * sgateh"
    for old, new, count in [
            (", CU, scale, T, ", ", GATE, CU, scale, T, sgatet, sgateh, ", 4),
            ("DELTA, DQ, GATE", "DELTA, DQ, DGATE, GATE", 1),
            ("    acc = acc / total[:, None]\n",
             f"    acc = acc / total[:, None] * tl.sigmoid(tl.load(GATE + {at}))[:, None]\n", 1),
            ("    slope = scale * 1.4426950408889634\n\n    dq =",
             f"""    slope = scale * 1.4426950408889634
    g = tl.sigmoid(tl.load(GATE + {at}))
    tl.store(DGATE + {at}, delta * (1.0 - g), mask=live)
    do = (do * g[:, None]).to(do.dtype)

    dq =""", 1),
            ("        keep = sees(t[:, None], pos[None, :], W, STEP) & (rows",
             f"""        g = tl.sigmoid(tl.load(GATE + {at}))
        do = (do * g[:, None]).to(do.dtype)
        keep = sees(t[:, None], pos[None, :], W, STEP) & (rows""", 1)]:
        assert made.count(old) == count, (old, made.count(old))
        made = made.replace(old, new)
    return made
