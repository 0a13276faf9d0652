# tests/mutants/sites.py - the one-line faults that can be injected into a source text, C++ or Python.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
"""faults(text, python) lists every fault. What looks without effect is left out by rule: comments, strings, preprocessor lines,
includes and aliases, assertions, reservations, and every statement that makes a message (errors, remarks, logs)."""
import dataclasses
import re


@dataclasses.dataclass(frozen=True)
class Fault:
    operator: str
    line: int    # from 1
    before: str  # the complete line
    after: str


MESSAGE = re.compile(
    r"\b(\w*Error|emit\w+|\w*[mM]essage\w*|\w*[hH]int\w*|\w*[dD]iagnos\w*|remark\w*|spdlog|fmt|s?n?f?printf|puts|fputs|log|warn\w*|"
    r"info|describe\w*|help|usage|throw|assert|static_assert|llvm_unreachable|report_fatal_error|LLVM_DEBUG|errs|outs|"
    r"getDescription|getArgument|static_print|static_assert|device_print|device_assert|print)\b")
# Without effect on results, or of the text's structure alone.
IDLE_CALLS = re.compile(r"\b(reserve|shrink_to_fit|fflush|flush|static_assert|assert|exit|_exit|abort)\($")
CONTINUES = re.compile(r"(?:[,(+\-*/%<>=&|?:\[]|<<|\breturn|\bthrow)$")
NO_CODE = re.compile(r"^\s*(using|namespace|template|typedef|extern|case|default|public|private|protected|import|from|@)\b|^\s*@")


def mask(text, python):
    """The same text with comments and the contents of quotation marks blanked; positions stay."""
    out, i, end = list(text), 0, len(text)

    def blank(start, stop, with_=" "):
        for k in range(start, min(stop, end)):
            if out[k] != "\n":
                out[k] = with_

    while i < end:
        two = text[i:i + 2]
        if python and text[i] == "#" or not python and two == "//":
            stop = text.find("\n", i)
            stop = end if stop < 0 else stop
            blank(i, stop)
        elif not python and two == "/*":
            stop = text.find("*/", i + 2) + 2
            stop = end if stop < 2 else stop
            blank(i, stop)
        elif python and text[i:i + 3] in ('"""', "'''"):
            stop = text.find(text[i:i + 3], i + 3) + 3
            stop = end if stop < 3 else stop
            blank(i, stop)
        elif not python and (raw := re.compile(r'R"([^()\\ ]*)\(').match(text, i)) and not (i and text[i - 1].isalnum()):
            stop = text.find(f'){raw[1]}"', i)
            stop = end if stop < 0 else stop + len(raw[1]) + 2
            blank(i + 2, stop - 1, "_")
        elif text[i] in "\"'" and not (text[i] == "'" and i and text[i - 1].isalnum()):  # 1'000 is a number
            stop = i + 1
            while stop < end and text[stop] != text[i] and text[stop] != "\n":
                stop += 2 if text[stop] == "\\" else 1
            blank(i + 1, stop, "_")
            stop += 1
        else:
            stop = i + 1
        i = stop
    masked = "".join(out)
    if not python:
        masked = re.sub(r"^[ \t]*#(?:.*\\\n)*.*$", lambda m: re.sub(r"[^\n]", " ", m[0]), masked, flags=re.M)
    return masked


def idle_lines(lines, python):
    """Numbers (from 0) of the lines that belong to a statement that makes a message, or to no code."""
    idle = set()
    for number, line in enumerate(lines):
        if NO_CODE.match(line):
            idle.add(number)
        if not MESSAGE.search(line):
            continue
        first = last = number
        while first and CONTINUES.search(lines[first - 1].rstrip()):
            first -= 1
        depth = 0
        for last in range(first, len(lines)):
            depth += sum(lines[last].count(c) for c in "([{") - sum(lines[last].count(c) for c in ")]}")
            if depth <= 0 and (python or lines[last].rstrip().endswith((";", "{", "}", ")"))):
                break
        # A condition that guards a message is code: `if (a < b)` and `throw` are on separate lines.
        idle.update(range(first, max(last, number) + 1))
    if python:  # from a decorator to the end of the signature
        inside = False
        for number, line in enumerate(lines):
            if re.match(r"\s*(@|def\b)", line):
                inside = True
            if inside:
                idle.add(number)
            if inside and line.rstrip().endswith(":") and "(" not in line.rpartition(")")[2]:
                inside = False
    return idle


def balanced(text):
    depth = 0
    for c in text:
        depth += (c in "([{") - (c in ")]}")
        if depth < 0:
            return False
    return depth == 0


# Python does not evaluate an annotation: `x: Path | None`.
ANNOTATION = re.compile(r" \| None\b")
# The order of their arguments means nothing.
SYMMETRIC = re.compile(r"\b(min|max|minimum|maximum|gcd|lcm|equal|swap|add|mul|andi|ori|xori)$", re.I)
NAME = r"[A-Za-z_]\w*(?:(?:\.|->|::)\w+)*"


def _replacements(line, python):
    """(operator, start, stop, text) in a masked line."""
    for m in re.finditer(r"(?<=[\w\])] )(<=|>=|<|>)(?= [\w(\-!*&])", line):
        yield "comparison boundary", *m.span(), {"<": "<=", "<=": "<", ">": ">=", ">=": ">"}[m[1]]
    for m in re.finditer(r" ([+-]) 1(?![\w.'])", line):
        yield "one off", *m.span(), ""
    for m in re.finditer(r" (==|!=) ", line):
        yield "negated condition", *m.span(1), "!=" if m[1] == "==" else "=="
    if python:
        for m in re.finditer(r"(?<=[\w\])}] )(is not|is|not in)(?= )", line):
            yield "negated condition", *m.span(), {"is": "is not", "is not": "is", "not in": "in"}[m[1]]
        for m in re.finditer(r"(?<=[\w\])}] )in(?= )", line):
            if not re.search(r"\bfor (?:(?!\bin\b).)*$|\bnot $", line[:m.start()]):
                yield "negated condition", *m.span(), "not in"
    pairs = {" && ": " || ", " || ": " && "} if not python else {" & ": " | ", " | ": " & ", " and ": " or ", " or ": " and "}
    for old, new in pairs.items():
        for m in re.finditer(re.escape(old), line):
            if not (python and ANNOTATION.match(line, m.start())):
                yield "and, or", *m.span(), new
    for m in re.finditer(rf"(?<=\w)\(({NAME}), ({NAME})\)", line):
        if m[1] != m[2] and not SYMMETRIC.search(line[:m.start()]):
            yield "swapped arguments", m.start(1), m.end(2), f"{m[2]}, {m[1]}"
    for m in re.finditer(rf"(?<=[(=,] )({NAME}|\d+) (-|//?|%) ({NAME}|\d+)(?=[),;:]|$)|(?<=[(\[])({NAME}|\d+) (-|//?|%) ({NAME}|\d+)(?=[),;\]])",
                         line):
        a, operator, b = [g for g in m.groups() if g]
        if a != b:
            yield "swapped operands", *m.span(), f"{b} {operator} {a}"
    for m in re.finditer(r"(?<![\w.'])(?<!p[+-])(\d+)(?![\w.'])(?!\s*>)", line):
        if int(m[1]) >= 2:
            for new in (int(m[1]) + 1, int(m[1]) - 1):
                yield "constant changed", *m.span(), str(new)
    for m in re.finditer(r"(?<![\w.'])(\d+\.\d+)(?=f?\b)", line):
        yield "constant changed", *m.span(), "1.0" if float(m[1]) == 0 else repr(2 * float(m[1]))
    for m in re.finditer(r"\b(true|false|True|False)\b", line):
        yield "constant changed", *m.span(), {"true": "false", "false": "true", "True": "False", "False": "True"}[m[1]]


def _conditions(line, python):
    if python:
        m = re.match(r"\s*(?:el)?if (.+):\s*$", line)
        if m:
            yield "negated condition", *m.span(1), "not ({})"
        return
    m = re.match(r"\s*(?:\} )?(?:else )?if \((.*)\)(?: \{)?\s*$", line)
    if not m or not balanced(m[1]):
        return
    start = m.start(1) + (m[1].rfind("; ") + 2 if "; " in m[1] else 0)
    condition = line[start:m.end(1)]
    if re.match(r"[\w:<>,*& ]+ [*&]?[\w\[\], ]+ = ", condition):
        return  # declares what it tests
    yield "negated condition", start, m.end(1), "!({})"


def _statements(lines, number, python):
    line = lines[number]
    earlier = lines[number - 1].rstrip() if number else ""
    body = earlier.endswith((")", "else"))  # of an if or a loop without braces
    if python:
        if re.match(rf"\s+{NAME}\(.*\)\s*$", line) and balanced(line) and not CONTINUES.search(earlier):
            yield "call dropped", "pass"
        if re.match(r"\s{8,}(return|continue|break)\s*$", line):
            yield "early return removed", "pass"
        return
    m = re.match(rf"\s+(?:\*?{NAME}(?:\(\)|\[\w+\])?(?:\.|->|::))*{NAME}(\()", line)
    if m and line.rstrip().endswith(");") and balanced(line) and not re.match(r"\s*(return|throw|delete|if|for|while|switch)\b", line):
        if (body or earlier.endswith((";", "{", "}", ":")) or not earlier.strip()) and not IDLE_CALLS.search(line[:m.end(1)]):
            yield "call dropped", "{}" if body else ";"
    if re.match(r"\s{4,}(return\b[^;]*|continue|break);\s*$", line) and balanced(line):
        if re.match(r"\s*(?:\} )?(?:else )?if \(", earlier) and earlier.endswith(")"):
            yield "early return removed", "{}"


def faults(text, python=False):
    """All faults of a text, in the order of its lines."""
    lines, masked = text.split("\n"), mask(text, python).split("\n")
    idle = idle_lines(masked, python)
    found = []
    for number, line in enumerate(masked):
        if number in idle or not line.strip():
            continue
        original = lines[number]
        for operator, start, stop, new in _replacements(line, python):
            found.append(Fault(operator, number + 1, original, original[:start] + new + original[stop:]))
        for operator, start, stop, form in _conditions(line, python):
            found.append(Fault(operator, number + 1, original,
                               original[:start] + form.format(original[start:stop]) + original[stop:]))
        for operator, new in _statements(masked, number, python):
            indent = re.match(r"\s*", original)[0]
            found.append(Fault(operator, number + 1, original, indent + new))
    return [f for f in dict.fromkeys(found) if f.after.rstrip() != f.before.rstrip()]
