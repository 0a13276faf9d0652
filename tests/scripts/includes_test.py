"""tests/scripts/includes_test.py - scripts/checks/includes.py finds circles of folders, and names the includes.

SPDX-License-Identifier: Apache-2.0
"""
from repository import load

includes = load("scripts/checks/includes.py")


def edges(**lines):
    """Of sources a/A.h, a/b/B.h ...: name -> includes, `_` for `/`."""
    return includes.folder_edges(
        {"a/" + name.replace("_", "/") + ".h": "".join('#include "a/%s.h"\n' % each for each in text.split())
         for name, text in lines.items()}, "a")


class TestCircles:
    def test_a_tree_has_none(self):
        found = edges(A="b/B c/C", b_B="c/C", c_C="")
        assert sorted(found) == [("a", "a/b"), ("a", "a/c"), ("a/b", "a/c")]
        assert includes.folder_cycle(found) == []

    def test_the_folder_itself_is_none(self):
        assert edges(A="B", B="A") == {}

    def test_a_folder_and_the_one_above(self):
        found = edges(A="b/B", b_B="C", C="")
        assert sorted(includes.folder_cycle(found)) == ["a", "a/b"]
        assert found["a/b", "a"] == "a/b/B.h includes a/C.h"

    def test_three_folders_that_no_file_closes(self):
        # b/B and b/D are different files: the folders are a circle all the same.
        found = edges(b_B="c/C", c_C="d/D", d_D="b/D", b_D="")
        assert sorted(includes.folder_cycle(found)) == ["a/b", "a/c", "a/d"]

    def test_the_shortest_is_shown(self):
        found = edges(b_B="c/C", c_C="d/D e/E", d_D="b/B", e_E="c/C")
        assert sorted(includes.folder_cycle(found)) == ["a/c", "a/e"]

    def test_other_trees_do_not_count(self):
        assert includes.folder_edges({"x/X.h": '#include "a/b/B.h"\n'}, "a") == {}


def refused(path, target):
    return bool(includes.check(path, '#include "%s"\n' % target))


class TestDirections:
    def test_launches_know_no_tables_devices_or_recorders(self):
        for target in ("autotune/table/TuneTable.h", "autotune/choice/Tables.h", "replay/Record.h", "runtime/device/cuda/CudaDevice.h",
                       "simulator/Sim.h", "library/Parts.h"):
            assert refused("runtime/launch/Kernel.cpp", target), target
        assert not refused("runtime/launch/Kernel.cpp", "language/Value.h")

    def test_the_library_knows_what_it_registers(self):
        for target in ("autotune/choice/Tables.h", "replay/Record.h", "runtime/device/cuda/CudaDevice.h"):
            assert not refused("library/Parts.cpp", target), target
        assert refused("library/Parts.cpp", "autotune/search/Search.h")

    def test_tables_include_support_and_language_alone(self):
        assert not refused("autotune/table/Yaml.cpp", "language/Constexprs.h")
        assert refused("autotune/table/Yaml.cpp", "runtime/Kernel.h")
        assert refused("autotune/table/Yaml.cpp", "autotune/choice/Tables.h")

    def test_the_front_end_and_the_ptx_reader_stand_alone(self):
        for path in ("language/Lexer.cpp", "ptx/Lexer.cpp"):
            assert not refused(path, "support/Error.h")
            for target in ("runtime/Kernel.h", "compiler/Compile.h", "simulator/Sim.h"):
                assert refused(path, target), (path, target)

    def test_settings_see_estimates_of_ops_and_no_other_part(self):
        assert not refused("trainer/settings/Plan.cpp", "ops/Estimates.h")
        assert refused("trainer/settings/Plan.cpp", "ops/attention/HeadSlices.h")
