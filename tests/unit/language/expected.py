#!/usr/bin/env python3
"""Writes expressions.txt: each expression as Python's own ast sees it, every operator in parentheses.

SPDX-License-Identifier: Apache-2.0
"""
import ast
import os

BIN = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.FloorDiv: "//", ast.Mod: "%", ast.Pow: "**",
       ast.LShift: "<<", ast.RShift: ">>", ast.BitAnd: "&", ast.BitOr: "|", ast.BitXor: "^", ast.MatMult: "@"}
UNARY = {ast.USub: "-", ast.UAdd: "+", ast.Not: "not ", ast.Invert: "~"}
COMPARE = {ast.Eq: "==", ast.NotEq: "!=", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Is: "is",
           ast.IsNot: "is not", ast.In: "in", ast.NotIn: "not in"}

EXPRESSIONS = """
a + b * c - d
a - b - c
-a ** -b
2 ** 3 ** 2
a // b % c * d / e @ f
a | b ^ c & d << e + f
a & b == c
a < b <= c != d
not a == b
not not a or b and not c
a if b else c if d else e
a or b if c and d else e
x[:, None] + y[None, :] * z[1:2, ::3, 4:]
f(a, b, k=c + 1)(d)[e].g
-x.y[0](1)
~a & -b + +c
a is not b
a not in b
a is b is not None
(a, b), c
(a,)
()
[1, 2.5, 'x' "y", True, None]
0x_ff + 0b1_0 + 0o17 + 1_000 + 00
1e3 + .5 + 1. + 1E-2
a << b >> c
(a + b) * (c - d)
lambda x, y: x + y if x else y
[x * y for x in a for y in b if x < y if y]
{'a': 1, 'b': [2]}
{k: v for k, v in z}
f(x for x in y)
a < b and c < d or e
x[a, b][c]
x[a,]
x[()]
1 .real
'it\\'s' + "q\\n\\x41\\u00e9" + r'\\d'
a*b+c*d-e//f**-g
-1 ** 2
not a in b
a if not b else -c
"""


def show(n):
    if isinstance(n, ast.Name):
        return n.id
    if isinstance(n, ast.Constant):
        return repr(n.value)
    if isinstance(n, ast.BinOp):
        return "(%s %s %s)" % (show(n.left), BIN[type(n.op)], show(n.right))
    if isinstance(n, ast.UnaryOp):
        return "(%s%s)" % (UNARY[type(n.op)], show(n.operand))
    if isinstance(n, ast.BoolOp):
        return "(%s)" % (" and " if isinstance(n.op, ast.And) else " or ").join(map(show, n.values))
    if isinstance(n, ast.Compare):
        return "(%s%s)" % (show(n.left), "".join(" %s %s" % (COMPARE[type(o)], show(c))
                                                   for o, c in zip(n.ops, n.comparators)))
    if isinstance(n, ast.Call):
        return "%s(%s)" % (show(n.func), ", ".join([show(a) for a in n.args] +
                                                  ["%s=%s" % (k.arg, show(k.value)) for k in n.keywords]))
    if isinstance(n, ast.Attribute):
        return ("(%s).%s" if isinstance(n.value, ast.Constant) else "%s.%s") % (show(n.value), n.attr)
    if isinstance(n, ast.Subscript):
        if isinstance(n.slice, ast.Tuple) and n.slice.elts:
            e = n.slice.elts
            return "%s[%s]" % (show(n.value), ", ".join(map(show, e)) + ("," if len(e) == 1 else ""))
        return "%s[%s]" % (show(n.value), show(n.slice))
    if isinstance(n, ast.Slice):
        part = lambda x: show(x) if x else ""
        return "%s:%s" % (part(n.lower), part(n.upper)) + (":" + show(n.step) if n.step else "")
    if isinstance(n, ast.Tuple):
        return "(%s%s)" % (", ".join(map(show, n.elts)), "," if len(n.elts) == 1 else "")
    if isinstance(n, ast.List):
        return "[%s]" % ", ".join(map(show, n.elts))
    if isinstance(n, ast.Dict):
        return "{%s}" % ", ".join("%s: %s" % (show(k), show(v)) for k, v in zip(n.keys, n.values))
    if isinstance(n, ast.IfExp):
        return "(%s if %s else %s)" % (show(n.body), show(n.test), show(n.orelse))
    if isinstance(n, ast.Lambda):
        return "(lambda %s: %s)" % (", ".join(a.arg for a in n.args.args), show(n.body))
    clauses = "".join(" for %s in %s" % (show(g.target), show(g.iter)) + "".join(" if " + show(i) for i in g.ifs)
                      for g in n.generators)
    if isinstance(n, ast.DictComp):
        return "{%s: %s%s}" % (show(n.key), show(n.value), clauses)
    return ("[%s%s]" if isinstance(n, ast.ListComp) else "(%s%s)") % (show(n.elt), clauses)


with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "expressions.txt"), "w", encoding="utf-8") as out:
    for line in EXPRESSIONS.strip().splitlines():
        out.write("%s\n    %s\n" % (line, show(ast.parse(line, mode="eval").body)))
