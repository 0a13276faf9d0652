"""tests/scripts/sizes_test.py - scripts/checks/sizes.py counts the lines of functions and the files of folders.

SPDX-License-Identifier: Apache-2.0
"""
from repository import load

sizes = load("scripts/checks/sizes.py")


def body(lines):
    return "  f();\n" * lines


RIGHT = ["// a/B.h - what it contains,", "// on two lines.", *sizes.LAST_BANNER_LINES, "#pragma once"]


class TestBanners:
    def test_purpose_copyright_and_licence_on_separate_lines(self):
        assert sizes.banner_errors("a/B.h", RIGHT) == []

    def test_the_path_is_that_of_the_file(self):
        assert len(sizes.banner_errors("a/C.h", RIGHT)) == 1

    def test_a_licence_inside_the_purpose_is_refused(self):
        glued = ["// a/B.h - what it contains. Copyright the tessera authors. SPDX-License-Identifier: Apache-2.0", "#pragma once"]
        assert len(sizes.banner_errors("a/B.h", glued)) == 1
        two = ["// a/B.h - what it contains. Copyright the tessera authors.", "// SPDX-License-Identifier: Apache-2.0"]
        assert len(sizes.banner_errors("a/B.h", two)) == 1

    def test_a_licence_below_the_code_is_refused(self):
        assert len(sizes.banner_errors("a/B.h", [RIGHT[0], "#pragma once", *sizes.LAST_BANNER_LINES])) == 1


class TestFunctions:
    def test_at_the_cap(self):
        assert sizes.long_functions("int f() {\n" + body(80) + "}\n") == []

    def test_above(self):
        assert sizes.long_functions("\nint f() {\n" + body(81) + "}\n") == [(2, 81)]

    def test_a_header_of_several_lines(self):
        text = "A::A(int a,\n     int b)\n    : a(a), b(b) {\n" + body(81) + "}\n"
        assert sizes.long_functions(text) == [(3, 81)]

    def test_a_method_and_a_lambda(self):
        text = "struct A {\n" + "  int f() const {\n" + body(81) + "  }\n};\nauto g = [&](int i) -> bool {\n" + body(90) + "};\n"
        assert [lines for _, lines in sizes.long_functions(text)] == [81, 90]

    def test_what_is_none(self):
        text = "namespace a {\nclass B : C<D(int)> {\n" + body(81) + "};\n" + "int table[] = {\n" + "    1,\n" * 99 + "};\n}\n"
        assert sizes.long_functions(text) == []

    def test_a_loop_counts_with_its_function(self):
        assert [n for _, n in sizes.long_functions("void f() {\n  for (;;) {\n" + body(90) + "  }\n}\n")] == [92]

    def test_braces_in_texts(self):
        assert sizes.long_functions('void f() {\n  g("}", \'{\'); // {\n  h(R"(\n{ {)");\n' + body(76) + "}\n") == []


class TestFolders:
    def test_counts(self):
        files = ["codegen/a/F%d.cpp" % i for i in range(26)] + ["codegen/b/F%d.cpp" % i for i in range(25)] + ["trainer/F%d.cpp" % i for i in range(90)]
        assert sizes.full_folders(files) == [("codegen/a", 26)]
