# tests/generator/case.py - a launch with the memory before and after it: what the runner executes, and what the corpus keeps.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
"""A case of the corpus is two files: NAME.py, the kernel, and NAME.npz, its arguments and what memory must hold after the launch."""
import dataclasses
import importlib.util
import json
import pathlib

import numpy as np
import torch
import values as V

BY_NAME = {element.name: element for element in V.ELEMENTS}


@dataclasses.dataclass
class Case:
    text: str
    elements: list   # of each buffer argument
    aliases: list    # for each, the argument whose memory it names, or -1
    before: list     # numpy arrays
    after: list
    scalars: list
    programs: int
    options: dict

    @classmethod
    def of(cls, program):
        return cls(program.text(), [b.element for b in program.buffers], [b.alias for b in program.buffers], [b.initial for b in program.buffers],
                   program.expected(), list(program.scalars.values()), program.programs, program.options)

    def save(self, path, comment=""):
        path.with_suffix(".py").write_text(comment + self.text, encoding="utf-8")
        launch = {"elements": [e.name for e in self.elements], "aliases": self.aliases, "scalars": self.scalars, "programs": self.programs,
                  "options": self.options}
        arrays = {"before_%d" % i: a for i, a in enumerate(self.before)} | {"after_%d" % i: a for i, a in enumerate(self.after)}
        np.savez_compressed(path.with_suffix(".npz"), launch=json.dumps(launch), **arrays)

    @classmethod
    def load(cls, path):
        stored = np.load(path.with_suffix(".npz"))
        launch = json.loads(str(stored["launch"]))
        count = len(launch["elements"])
        return cls(path.with_suffix(".py").read_text(encoding="utf-8"), [BY_NAME[name] for name in launch["elements"]], launch["aliases"],
                   [stored["before_%d" % i] for i in range(count)], [stored["after_%d" % i] for i in range(count)], launch["scalars"],
                   launch["programs"], launch["options"])


def tensor(array, element):
    made = torch.from_numpy(array.copy())
    return made.to(torch.bfloat16) if element is V.BF16 else made


def array(made, element):
    return (made.float() if element is V.BF16 else made).numpy()


class Runner:
    """Launches cases with the Python package; each kernel is a module in `folder`."""

    def __init__(self, folder):
        self.folder, self.count = pathlib.Path(folder), 0

    def launch(self, case):
        """Memory after the launch."""
        self.count += 1
        path = self.folder / ("kernel_%d.py" % self.count)
        path.write_text(case.text, encoding="utf-8")
        spec = importlib.util.spec_from_file_location("kernel_%d" % self.count, path)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        memory = [tensor(a, e) for a, e in zip(case.before, case.elements)]
        memory = [memory[alias] if alias >= 0 else m for m, alias in zip(memory, case.aliases)]
        try:
            module.kernel[(case.programs,)](*memory, *case.scalars, **case.options)
        finally:
            path.unlink()
        return [array(m, e) for m, e in zip(memory, case.elements)]

    def fault(self, case):
        """What is wrong with a case: (kind, text), or None."""
        try:
            got = self.launch(case)
        except Exception as error:  # noqa: BLE001 - whatever the launch throws is a finding
            lines = str(error).strip().splitlines() or [""]
            return "refused", "%s: %s" % (type(error).__name__, ([line for line in lines if "error" in line.lower()] or lines)[0][-200:])
        for number, (want, have) in enumerate(zip(case.after, got)):
            wrong = np.flatnonzero(want != have)
            if len(wrong):
                at = wrong[0]
                return "wrong", "argument %d: %d of %d elements differ, the first at %d: got %s, want %s" % (
                    number, len(wrong), want.size, at, have[at], want[at])
        return None
