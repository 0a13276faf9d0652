# tests/differential/minimize.py - a smaller kernel that still differs, by leaving lines out.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0


def indent(line):
    return len(line) - len(line.lstrip())


def block(lines, at):
    """The end of the statement that starts at a line: its body belongs to it, an `else` too."""
    end = at + 1
    while end < len(lines) and lines[end].strip() and (
            indent(lines[end]) > indent(lines[at])
            or (indent(lines[end]) == indent(lines[at]) and lines[end].strip() == "else:")):
        end += 1
    return end


def candidates(lines):
    """Versions with one statement less, from the end; then with a body instead of its header."""
    for at in range(len(lines) - 1, -1, -1):
        text = lines[at].strip()
        if not text or text.startswith(("import", "@", "def", "else", "return")):
            continue
        end = block(lines, at)
        yield lines[:at] + lines[end:]
        if text.startswith(("if", "for", "while")):
            inner = [line[4:] for line in lines[at + 1:end] if indent(line) > indent(lines[at])]
            yield lines[:at] + inner + lines[end:]


def minimize(text, still, tries=400):
    """The smallest version found for which still(text) holds; at most `tries` of them are run."""
    lines = text.splitlines()
    progress = True
    while progress and tries > 0:
        progress = False
        for smaller in candidates(lines):
            tries -= 1
            if tries <= 0:
                break
            if still("\n".join(smaller) + "\n"):
                lines, progress = smaller, True
                break
    return "\n".join(lines) + "\n"
