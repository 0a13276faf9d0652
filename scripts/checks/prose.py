#!/usr/bin/env python3
"""Checks the words of comments, messages and pages against a list of phrases that readers do not understand.

    scripts/checks/prose.py                 fails if a top folder has more of the phrases than prose_counts.txt allows
    scripts/checks/prose.py --fix           lowers the numbers of prose_counts.txt to what is left; never raises them
    scripts/checks/prose.py --list [PATH]   lists every place below PATH
    scripts/checks/prose.py --soft [PATH]   counts phrases that are often unclear; a reader judges them

An exception is a line of prose_exceptions.txt: path, a part of the line, the reason, with tabs between. SPDX-License-Identifier: Apache-2.0
"""
import collections
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "scripts" / "lib"))
sys.dont_write_bytecode = True
import prose_text  # noqa: E402

COUNTS, EXCEPTIONS = ROOT / "scripts/checks/prose_counts.txt", ROOT / "scripts/checks/prose_exceptions.txt"
HISTORY = ("docs/decisions/", "CHANGELOG.md", "bench/results/", "NOTICE")  # not rewritten
MOST = 30  # places that a failed check prints
PARTICIPLE = (r"(?:\w+(?:ed|en|wn)|run|set|read|put|cut|hit|done|gone|made|met|got|left|lost|kept|held|had|won|begun|become|come|found|built|sent|"
              r"spent|said|told|led|bound|sunk|changed|paid|felt|meant|fit|shut|split)\b")
# The phrase for a message: what it matches, without regard to case; a blank is any white space.
HARD = {
    "is no": r"\bis no\b(?!-| longer\b)",
    "of who": r"\bof who\b",
    "nobody": r"\bnobody\b",
    "somebody": r"\bsomebody\b",
    "has none": r"\bhas none\b",
    "at hand": r"\bat hand\b",
    "made anew": r"\bmade anew\b",
    "planted": r"(?<![\w/])planted(?![\w/]|\.\w)",
    "lanes apart": r"\blanes apart\b",
    "by turns": r"\bby turns\b",
    "in place of": r"\bin place of\b",
    "of today": r"\bof today\b",
    "own choice": r"\bown choice\b",
    # Not "peer to peer" and peer access of CUDA, not a name in code or a path.
    "peer": r"(?<![\w./\[<{\"'=-])(?<!to\s)peers?(?!-?[\w/\]>\"=(:]|\.\w| to peer| access| memory| device| cop)",
    # Not a progress bar or a bar of a plot, not PTX, not a name in code or a placeholder.
    "bar": r"(?<![\w./%<{\"'=-])(?<!progress\s)(?<!error\s)(?<!title\s)(?<!scroll\s)(?<!status\s)(?<!foo\s)(?<!-NOT:\s)"
           r"(?-i:[Bb]ars?)(?![\w/>\"=(:-]|\.\w|\\|, membar| charts?\b| graphs?\b| plots?\b)",
    "the Python system": r"\bthe python system\b",
    "had not": r"\bha[ds] not\b(?! (?:(?:yet|already|ever|even|\w+ly) )?" + PARTICIPLE + ")",
}
SOFT = {word: r"\b%s\b" % word for word in ("beside", "behind", "stands?", "lies", "goes on", "whole", "places?", "parts", "turned", "said", "says")}
# What opens a Python file, a script or a CMake file: its path and a purpose, or a docstring.
PURPOSE = re.compile(r'# \S.* - \S+ \S+|"""\S+ \S+')
OWN = ("scripts/checks/prose.py", "tests/scripts/prose_test.py")  # they contain the phrases
RECORDED = ("tests/replay/", "tests/generator/corpus/")  # kernel files as recorded: no header


def compiled(phrases):
    return [(name, re.compile(pattern.replace(" ", r"\s+"), re.I)) for name, pattern in phrases.items()]


HARD_PATTERNS, SOFT_PATTERNS = compiled(HARD), compiled(SOFT)


def places(path, text, patterns):
    """(line, phrase) of each match in the comments, messages and paragraphs of a file."""
    found = []
    for block in prose_text.blocks(path, text):
        for name, pattern in patterns:
            found += [(block.line(match.start()), name) for match in pattern.finditer(block.text)]
    return sorted(found)


def purpose_problems(path, text):
    """A Python file, script or CMake file opens with a sentence; scripts/checks/sizes.py checks C++."""
    first = next((line for line in text.splitlines() if not line.startswith("#!")), "")
    if not first or path.startswith(RECORDED) or PURPOSE.match(first):
        return []
    return ["%s:1: the first line does not say what the file contains: `# %s - PURPOSE` or a docstring" % (path, path)]


def exceptions(text):
    """{path: [(part of the line, reason)]}"""
    found = collections.defaultdict(list)
    for line in text.splitlines():
        if line and not line.startswith("#"):
            path, part, reason = line.split("\t")
            found[path].append((part, reason))
    return found


def refused(path, text, allowed):
    """(line, phrase) of the hard list that no exception allows, and the exceptions that allow nothing."""
    lines, used, found = text.splitlines(), set(), []
    for line, name in places(path, text, HARD_PATTERNS):
        parts = [part for part, _ in allowed if part in lines[line - 1]]
        used.update(parts)
        if not parts:
            found.append((line, name))
    return found, [part for part, _ in allowed if part not in used]


def counts_of(text):
    return {folder: int(count) for folder, count in (line.split() for line in text.splitlines() if line and not line.startswith("#"))}


def lowered(text, counts):
    """The text of the numbers, none above what it was."""
    old = counts_of(text)
    head = "".join(line + "\n" for line in text.splitlines() if line.startswith("#"))
    new = {folder: min(old[folder], counts.get(folder, 0)) for folder in sorted(old)}
    return head + "".join("%s %d\n" % item for item in new.items() if item[1])


def tracked(below):
    names = subprocess.check_output(["git", "-C", str(ROOT), "ls-files", "-co", "--exclude-standard", "--", *below], text=True).splitlines()
    for name in names:
        path = ROOT / name
        if not name.startswith(HISTORY) and path.is_file() and not path.is_symlink():
            try:
                yield name, path.read_text(encoding="utf-8")
            except UnicodeDecodeError:
                pass


def top(name):
    return name.split("/")[0] if "/" in name else "."


def show_soft(files):
    counts = collections.Counter((found, top(name)) for name, text in files for _, found in places(name, text, SOFT_PATTERNS))
    for word in SOFT:
        of_word = {folder: count for (found, folder), count in sorted(counts.items()) if found == word}
        print("%-10s %5d  %s" % (word, sum(of_word.values()), ", ".join("%s %d" % item for item in of_word.items())))
    print("%-10s %5d" % ("all", sum(counts.values())))
    return 0


def main(arguments):
    files = tracked([name for name in arguments if not name.startswith("--")])
    if "--soft" in arguments:
        return show_soft(files)
    allowed, found, problems = exceptions(EXCEPTIONS.read_text(encoding="utf-8")), collections.defaultdict(list), []
    for name, text in files:
        if name in OWN:
            continue
        hits, unused = refused(name, text, allowed.get(name, ()))
        found[top(name)] += ["%s:%d: %s" % (name, line, phrase) for line, phrase in hits]
        problems += ["%s allows `%s` in %s, where it allows nothing: remove the line" % (EXCEPTIONS.name, part, name) for part in unused]
        if name.endswith((".py", ".cmake", "CMakeLists.txt")) or text.startswith("#!"):
            problems += purpose_problems(name, text)
    if "--list" in arguments:
        for lines in found.values():
            print("".join(line + "\n" for line in lines), end="")
        return 0
    text = COUNTS.read_text(encoding="utf-8")
    counts = {folder: len(lines) for folder, lines in found.items()}
    if "--fix" in arguments:
        text = lowered(text, counts)
        COUNTS.write_text(text, encoding="utf-8")
    limits = counts_of(text)
    for folder, count in sorted(counts.items()):
        if count > limits.get(folder, 0):
            problems += found[folder][:MOST] + ["%s: %d phrases that readers do not understand, at most %d: use plain words (scripts/checks/prose.py --list %s)"
                                                % (folder, count, limits.get(folder, 0), folder)]
    for problem in problems:
        print("check: prose: " + problem)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
