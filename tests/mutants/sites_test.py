# tests/mutants/sites_test.py - which faults sites.py finds, and which lines it leaves alone.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
from repository import load

sites = load("tests/mutants/sites.py")

KERNEL = '''@triton.jit(do_not_specialize=["T"])
def f(X, Y, BLOCK: tl.constexpr = 64,
      LAST: tl.constexpr = 2):
    """Rows < 16."""
    c = tl.arange(0, BLOCK)       # c < 16
    if c >= n:
        return
    x = tl.load(X + c, mask=(c < n) & (c > 3), other=0.0)
    tl.store(Y + c, x, mask=c < n)
'''


def of(text, python=False):
    return [(f.operator, f.line, f.after.strip()) for f in sites.faults(text, python)]


def cpp(line, *want, before="  x();"):
    """The faults of a line that follows another."""
    assert [f for f in of(f"{before}\n{line}\n") if f[1] == 2] == [(operator, 2, after) for operator, after in want], line


def py(line, *want):
    """The faults of a line of a Python function."""
    assert [(operator, after) for operator, number, after in of(f"def f():\n    x = 0\n{line}\n", python=True) if number == 3] == list(want), line


def test_lines_of_cpp():
    cpp("  return a < b;", ("comparison boundary", "return a <= b;"))
    cpp("  return a >= b;", ("comparison boundary", "return a > b;"))
    cpp("  return a == b;", ("negated condition", "return a != b;"))
    cpp("  return a && b;", ("and, or", "return a || b;"))
    cpp("  return a + 1;", ("one off", "return a;"))
    cpp("  int64_t x = first(a, b);", ("swapped arguments", "int64_t x = first(b, a);"))
    cpp("  int64_t x = std::min(a, b);")
    cpp("  int64_t x = (a - b);", ("swapped operands", "int64_t x = (b - a);"))
    cpp("  int64_t x = 16;", ("constant changed", "int64_t x = 17;"), ("constant changed", "int64_t x = 15;"))
    cpp("  float x = 0x1.8p-26;")
    cpp("  float x = 0.5;", ("constant changed", "float x = 1.0;"))
    cpp("  bool x = true;", ("constant changed", "bool x = false;"))
    cpp("  if (a) {", ("negated condition", "if (!(a)) {"))
    cpp("  } else if (f(a)) {", ("negated condition", "} else if (!(f(a))) {"))
    cpp("  if (auto x = f(); x.good()) {", ("negated condition", "if (auto x = f(); !(x.good())) {"))
    cpp("  if (auto x = f()) {")
    cpp("  work.push_back(a);", ("call dropped", ";"))
    cpp("  work.push_back(a);", ("call dropped", "{}"), before="  if (a)")
    cpp("  work.reserve(a);")
    cpp("  Guard guard(a);")
    cpp("    return a;", ("early return removed", "{}"), before="  if (a)")
    cpp("    continue;", ("early return removed", "{}"), before="  if (a)")
    cpp("  return a;")
    # No code, or none that a result depends on.
    cpp("  // a < b")
    cpp("#define A(x) x < 2")
    cpp('  name("a < b && c", 16);', ("constant changed", 'name("a < b && c", 17);'), ("constant changed", 'name("a < b && c", 15);'),
        ("call dropped", ";"))
    cpp("  throw Error(a + 1);")
    cpp("  spdlog::warn(text, a + 1);")
    cpp("  assert(a < b);")
    cpp("using A = B<2, 3>;")
    cpp("  SmallVector<Value, 4> values;")


def test_texts_of_several_lines():
    assert of('  if (a < b)\n    throw Error("x" +\n                std::to_string(a + 1),\n                f(2));\n  y = c < d;\n') == (
            [("comparison boundary", 1, "if (a <= b)"), ("negated condition", 1, "if (!(a < b))"),
             ("comparison boundary", 5, "y = c <= d;")]), "a message over lines"
    assert of("/* a < b\n   c < d */\nint64_t x = a < b;\n") == [("comparison boundary", 3, "int64_t x = a <= b;")], "a comment over lines"
    assert of('f = R"(a < b\nc < d)";\nx = a < b;\n') == [("comparison boundary", 3, "x = a <= b;")], "raw text"
    assert of("#define A \\\n  x < 2\nx = a < b;\n") == [("comparison boundary", 3, "x = a <= b;")], "a directive over lines"


def test_a_kernel():
    assert of(KERNEL, python=True) == [
        ("comparison boundary", 6, "if c > n:"),
        ("negated condition", 6, "if not (c >= n):"),
        ("early return removed", 7, "pass"),
        ("comparison boundary", 8, "x = tl.load(X + c, mask=(c <= n) & (c > 3), other=0.0)"),
        ("comparison boundary", 8, "x = tl.load(X + c, mask=(c < n) & (c >= 3), other=0.0)"),
        ("and, or", 8, "x = tl.load(X + c, mask=(c < n) | (c > 3), other=0.0)"),
        ("constant changed", 8, "x = tl.load(X + c, mask=(c < n) & (c > 4), other=0.0)"),
        ("constant changed", 8, "x = tl.load(X + c, mask=(c < n) & (c > 2), other=0.0)"),
        ("constant changed", 8, "x = tl.load(X + c, mask=(c < n) & (c > 3), other=1.0)"),
        ("comparison boundary", 9, "tl.store(Y + c, x, mask=c <= n)"),
        ("call dropped", 9, "pass")], "a kernel"
    for fault in sites.faults(KERNEL, python=True):
        assert fault.before == KERNEL.split("\n")[fault.line - 1], "the line before"


def test_lines_of_python():
    py("    y = a is b", ("negated condition", "y = a is not b"))
    py("    y = a is not b", ("negated condition", "y = a is b"))
    py("    y = a in b", ("negated condition", "y = a not in b"))
    py("    y = a not in b", ("negated condition", "y = a in b"))
    py("    if a and not b:", ("and, or", "if a or not b:"), ("negated condition", "if not (a and not b):"))
    py("    for a in b:")
    py("    y = [a for a in b if a in c]", ("negated condition", "y = [a for a in b if a not in c]"))
    py("    y: Path | None = a")
    py("    raise ValueError(f'{a} is not {b}')")
    py("    y = top if top <= 1.0 else 2.0", ("comparison boundary", "y = top if top < 1.0 else 2.0"),
       ("constant changed", "y = top if top <= 2.0 else 2.0"), ("constant changed", "y = top if top <= 1.0 else 4.0"))
