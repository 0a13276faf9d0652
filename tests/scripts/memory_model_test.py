"""tests/scripts/memory_model_test.py - scripts/checks/memory_model.py sees where the drawing and the sources part.

SPDX-License-Identifier: Apache-2.0
"""
from repository import ROOT, load

check = load("scripts/checks/memory_model.py")


class TestDrawing:
    def setup_method(self):
        self.page = (ROOT / check.PAGE).read_text(encoding="utf-8")
        self.sources = {p.relative_to(ROOT).as_posix(): p.read_text(encoding="utf-8")
                        for p in (ROOT / "codegen").rglob("*") if p.suffix in (".cpp", ".h")}
        self.passes = self.sources[check.PASSES]

    def problems(self, page=None, passes=None, **changed):
        sources = dict(self.sources, **{"codegen/gpu/" + name.replace("__", "/") + ".cpp": text for name, text in changed.items()})
        return check.problems(page or self.page, sources, passes or self.passes)

    def test_is_true_today(self):
        assert self.problems() == []

    def test_a_row_whose_sources_ask_less(self):
        found = self.problems(memory__MemoryBarriers='#include "codegen/analysis/MemoryModel.h"\n')
        assert found == ["`tessera-memory-barriers` has a + for ForwardWalk, MemoryModel, PointerOrigins, its sources include MemoryModel"]

    def test_a_row_whose_sources_ask_more(self):
        found = self.problems(memory__AllocateShared='#include "codegen/analysis/MemoryModel.h"\n#include "codegen/analysis/ForwardWalk.h"\n')
        assert found == ["`tessera-allocate-shared` has a + for MemoryModel, its sources include ForwardWalk, MemoryModel"]

    def test_a_source_of_no_row(self):
        found = self.problems(masks__Other='#include "codegen/analysis/PointerOrigins.h"\n')
        assert found == ["codegen/gpu/masks/Other.cpp asks codegen/analysis and belongs to no row of the drawing"]

    def test_a_row_left_out(self):
        page = "".join(line for line in self.page.splitlines(True) if not line.lstrip().startswith("SharedLiveness   "))
        assert self.problems(page) == ["`SharedLiveness` is a row of the table alone"]

    def test_another_order_of_passes(self):
        [found] = self.problems(passes=self.passes.replace("createGuardMasksPass", "createXPass").replace("createMemoryBarriersPass", "createGuardMasksPass")
                                .replace("createXPass", "createMemoryBarriersPass"))
        assert "the order of passes is pipeline-loops -> promote-operands -> guard-masks -> async-waits -> allocate-shared -> memory-barriers, " in found
