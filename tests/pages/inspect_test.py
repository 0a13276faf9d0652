# tests/pages/inspect_test.py - the data of inspect pages against what other readers find in the same
# compilation: .loc tables, the simulator's own counts, tessera compile.
# SPDX-License-Identifier: Apache-2.0
import collections
import json
import os
import re
import subprocess

from page_data import KERNELS, ROOT, pane, read_page, run

FILE = re.compile(r'\s*\.file\s+(\d+)\s+"([^"]*)"')
LOC = re.compile(r"\s*\.loc\s+(\d+)\s+(\d+)\s+\d+(?:.*inlined_at\s+(\d+)\s+(\d+))?")
# The begin of an instruction: a predicate perhaps, then a word in lower case; directives begin with a dot, labels with a dollar. It continues to its
# semicolon.
INSTRUCTION = re.compile(r"\s*(?:@!?%\w+\s+)?[a-z][\w.:]*(?:\s|;|$)")


def loc_table(lines):
    """For each line of PTX that holds an instruction, [(file, line), ...] of the .loc before it, innermost first."""
    files, table, places, inside, open_ = {}, {}, [], False, False
    for line in lines:
        if match := FILE.match(line):
            files[int(match[1])] = os.path.basename(match[2])
    for number, line in enumerate(lines):
        if line.startswith("{") and not open_:
            inside = True
        elif line.startswith("}") and not open_:
            inside = False
        elif (match := LOC.match(line)) and not open_:
            places = [(int(match[1]), int(match[2]))] + ([(int(match[3]), int(match[4]))] if match[3] else [])
            places = [(files[file], row) for file, row in places if row]
        elif inside and (open_ or INSTRUCTION.match(line)):
            table[number] = places
            open_ = ";" not in line
    return table


def check_links(data, name):
    source, side = data["source"], data["sides"][0]
    ptx = pane(side, "ptx")
    expected = loc_table(ptx["text"])
    assert len(expected) > 40, name
    linked = 0
    for number, links in enumerate(ptx["links"]):
        got = [(source["file"][row], source["line"][row]) for row in links]
        want = expected.get(number, [])
        assert got == want, f"{name}: PTX line {number + 1} `{ptx['text'][number]}`: {got}, the .loc is {want}"
        linked += bool(got)
    assert linked > len(expected) * 0.8, f"{name}: only {linked} of {len(expected)} instructions are linked"
    # And from the source: each line's rows are those whose .loc names it.
    for row, line in enumerate(source["line"]):
        place = (source["file"][row], line)
        want = [number for number, places in expected.items() if place in places]
        assert want == [number for number, links in enumerate(ptx["links"]) if row in links], f"{name}: {place}"
    return linked


def check_ir(data, name):
    """What an operation is must be in the kernel's line: the page would be linked wrongly if one line were off."""
    words = {"tile.store": "store", "tile.dot": "dot", "tile.load": "load", "tile.program_id": "program_id"}
    source, seen = data["source"]["text"], collections.Counter()
    for id in ("tile", "layout"):
        part = pane(data["sides"][0], id)
        for text, links in zip(part["text"], part["links"]):
            for operation, word in words.items():
                if operation + " " in text and links:
                    near = source[links[0]:links[0] + 4]  # a call may go over several lines
                    assert any(word in each for each in near), f"{name}: `{text}` is linked to `{near[0]}`"
                    seen[operation] += 1
    assert seen["tile.store"] and seen["tile.load"], (name, seen)


def check_sass(data, name, linked_source):
    part = next((each for each in data["sides"][0]["panes"] if each["id"] == "sass"), None)
    if part is None:
        return  # no ptxas here
    place, current = re.compile(r'\s*//## File "([^"]*)", line (\d+)'), None
    for text, links in zip(part["text"], part["links"]):
        if not re.match(r"\s*/\*[0-9a-f]{4,}\*/", text):
            assert not links, f"{name}: `{text}` is linked, but is not an instruction"
            if (match := place.match(text)) and "inlined at" not in text:
                current = (os.path.basename(match[1]), int(match[2]))
        elif links:
            rows = [(data["source"]["file"][row], data["source"]["line"][row]) for row in links]
            assert current in rows, f"{name}: SASS `{text}` is linked to {rows}, its comment is {current}"
    used = {links[0] for links in part["links"] if links}
    assert len(used & linked_source) > len(used) * 0.8, name


def check_tiles(data, name):
    """Bases of the page's tiles against the layouts that the printed IR declares."""
    side = data["sides"][0]
    declared = set()
    for text in pane(side, "layout")["text"]:
        if match := re.match(r"#\w+ = #tile\.(?:linear|shared)<([\dx]+), (.*)>$", text):
            bases = {dim: json.loads(list_) for dim, list_ in re.findall(r"(\w+) = (\[(?:\[[^\]]*\](?:, )?)*\])", match[2])}
            declared.add((match[1], json.dumps(bases, sort_keys=True)))
    assert side["tiles"] and declared
    for tile in side["tiles"]:
        key = ("x".join(map(str, tile["shape"])), json.dumps(tile["bases"], sort_keys=True))
        assert key in declared, f"{name}: a tile {key} that no layout of the IR declares"
        assert tile["uses"] and all(0 <= row < len(data["source"]["text"]) for _, row in tile["uses"])
    operations = {operation for tile in side["tiles"] for operation, _ in tile["uses"]}
    dots = sum("tile.dot" in text for text in pane(side, "layout")["text"])
    assert ("tile.dot" in operations) == (dots > 0), name


def waited_for(kinds, left, commit):
    """Runs a loop with a queue of groups: the iteration and position at which the group that is committed at `commit` in iteration 0 has
    left the queue."""
    queue = []
    for iteration in range(40):
        for at, kind in enumerate(kinds):
            if kind == "commit":
                queue.append((iteration, at))
            elif kind == "wait":
                queue = queue[len(queue) - left[at]:] if left[at] else []
                if (iteration, at) > (0, commit) and (0, commit) not in queue:
                    return iteration, at
    return None


def check_timeline(data, name, loops_reported):
    side = data["sides"][0]
    ptx, line = pane(side, "ptx")["text"], side["timeline"]
    loops = [at for at, text in enumerate(ptx) if "mma.sync" in text]
    if not loops:
        return
    first, last = line["rows"][0], line["rows"][-1]
    assert line["rows"] == sorted(line["rows"], key=lambda row: (row < first, row)), f"{name}: not in the order in which it runs"
    report = next(loop for loop in loops_reported if loop["text_line"] == first + 1)
    names = {"mma": "mma", "ldmatrix": "ldmatrix", "copy": "cp.async", "load": "ld.global", "shuffle": "shfl"}
    assert len(line["rows"]) == report["instructions"]["total"], f"{name}: {len(line['rows'])} instructions of a loop"
    for kind, word in names.items():
        assert line["kinds"].count(kind) == report["instructions"].get(word, 0), (name, kind)
    label = next(text.rstrip(":") for text in reversed(ptx[:first]) if re.match(r"\$?\w+:$", text))
    assert re.search(r"\bbra(\.uni)?\s+" + re.escape(label) + r"\b", ptx[last]), f"{name}: `{ptx[last]}` does not go back to {label}"
    words = {"cp.async.commit": "commit", "cp.async.wait": "wait", "cp.async.c": "copy", "mma.sync": "mma", "ldmatrix": "ldmatrix",
             "bar.sync": "barrier", "ld.global": "load", "shfl": "shuffle"}
    left = []
    for row, kind in zip(line["rows"], line["kinds"]):
        want = next((words[word] for word in words if re.search(r"(^|\s)" + re.escape(word), ptx[row])), None)
        assert want in (kind, None), f"{name}: `{ptx[row]}` is {kind}"
        found = re.search(r"wait_group\s+(\d+)", ptx[row])
        left.append(int(found[1]) if found else 0)
    assert "mma" in line["kinds"]
    got = {group["commit"]: (group["iterations"], group["wait"]) for group in line["groups"]}
    commits = [at for at, kind in enumerate(line["kinds"]) if kind == "commit"]
    want = {at: waited_for(line["kinds"], left, at) for at in commits}
    assert got == {at: place for at, place in want.items() if place}, f"{name}: {got}, want {want}"
    return len(got)


def imports_of(file):
    """The kernel files that a kernel file imports from."""
    with open(os.path.join(ROOT, file), encoding="utf-8") as text:
        return {"kernels/" + module.replace(".", "/") + ".py" for module in re.findall(r"^from kernels\.(\S+) import", text.read(), re.M)}


def imports_below(file):
    """Those and the files that they import from."""
    found, work = set(), [file]
    while work:
        new = imports_of(work.pop()) - found
        found |= new
        work += new
    return found


def check_source(source, file, name):
    """The kernel's file, and the ones that it imports from, each as it is."""
    shown = {}
    for text, of, number in zip(source["text"], source["file"], source["line"]):
        if number:
            shown.setdefault(of, []).append((number, text))
    direct, all_ = imports_of(file), imports_below(file)
    assert {os.path.basename(path) for path in [file, *direct]} <= set(shown) <= {os.path.basename(path) for path in [file, *all_]}, (
        f"{name}: {sorted(shown)}")
    files = [path for path in [file, *sorted(all_)] if os.path.basename(path) in shown]
    for path in files:
        with open(os.path.join(ROOT, path), encoding="utf-8") as text:
            assert shown[os.path.basename(path)] == list(enumerate(text.read().splitlines(), 1)), f"{name}: the source is not {path}"


def test_kernels(program, folder):
    groups = 0
    for file, instance in KERNELS:
        out = os.path.join(folder, instance + ".html")
        run(program, ["inspect", file, "-i", instance, "-o", out])
        data = read_page(out)
        check_source(data["source"], file, instance)
        check_links(data, instance)
        check_ir(data, instance)
        check_tiles(data, instance)
        side = data["sides"][0]
        check_sass(data, instance, {links[0] for links in pane(side, "ptx")["links"] if links})
        # The same compilation by another verb.
        run(program, ["compile", file, "-i", instance, "--target", "sm_80", "--emit", "tile,layout,report,ptx", "-o", folder])
        for id, ending in (("tile", ".tile.mlir"), ("layout", ".layout.mlir")):
            with open(os.path.join(folder, instance + ending), encoding="utf-8") as text:
                assert pane(side, id)["text"] == text.read().splitlines(), (instance, id)
        with open(os.path.join(folder, instance + ".report.json"), encoding="utf-8") as text:
            report = json.load(text)
        groups += check_timeline(data, instance, report["ptx"]["loops"]) or 0
        for key in ("registers", "shared", "shared_buffers", "threads", "blocks_per_sm", "limited_by"):
            assert side["resources"][key] == report[key], (instance, key)
        assert side["counters"] is None and "executed" not in side["heat"]["ptx"]
        static = side["heat"]["ptx"]["instructions"]
        assert sum(static) == report["ptx"]["instructions"]["total"], instance
    assert groups, "no kernel has a group of copies to draw"


def test_case(program, folder):
    """Heat of a recorded launch against tessera analyze, which adds up the same counters by line."""
    case = "tests/replay/own_matmul-bf16.matmul_plain"
    out = os.path.join(folder, "case.html")
    run(program, ["inspect", case, "-o", out])
    data = read_page(out)
    side = data["sides"][0]
    counts = json.loads(run(program, ["analyze", case, "--json"]).stdout)
    heat = side["heat"]["ptx"]
    assert sum(heat["executed"]) == counts["warp_instructions"] == side["counters"]["warp_instructions"]
    assert sum(heat["sectors"]) == counts["global_sectors"] > 0
    assert sum(heat["conflicts"]) == counts["bank_conflicts"]
    assert sum(heat["passes"]) == counts["shared_passes"] > 0
    # Only instructions have a number of executed instructions.
    table = loc_table(pane(side, "ptx")["text"])
    assert {row for row, value in enumerate(heat["executed"]) if value} <= set(table)
    mma = [row for row, text in enumerate(pane(side, "ptx")["text"]) if "mma.sync" in text]
    assert mma and sum(heat["executed"][row] for row in mma) == counts["tensor_instructions"]
    # A source row has what its PTX rows have.
    own = collections.Counter()
    for row, links in enumerate(pane(side, "ptx")["links"]):
        if links:
            own[links[0]] += heat["executed"][row]
    assert [own[row] for row in range(len(data["source"]["text"]))] == side["heat"]["source"]["executed"]
    check_stalls(data, side)


def check_stalls(data, side):
    """Every stall has a reason, at an instruction that can have it; rows of the kernel add up to those of the PTX."""
    cycles, reasons, ptx = side["heat"]["ptx"]["stalls"], side["reasons"]["ptx"], pane(side, "ptx")
    assert len(cycles) == len(reasons) == len(ptx["text"]) and sum(cycles) > 0
    assert all(reason for count, reason in zip(cycles, reasons) if count)
    waits = [row for row, reason in enumerate(reasons) if reason == "asynchronous copies"]
    assert waits and all("cp.async.wait" in ptx["text"][row] for row in waits)
    busy = [row for row, reason in enumerate(reasons) if reason == "tensor core busy"]
    assert all("mma.sync" in ptx["text"][row] for row in busy)
    own, parts = collections.Counter(), collections.Counter()
    for row, links in enumerate(ptx["links"]):
        if links:
            own[links[0]] += cycles[row]
            parts[links[0]] += 1
    for row, count in enumerate(side["heat"]["source"]["stalls"]):
        assert abs(count - own[row]) <= parts[row] / 2 + 1, (row, count, own[row])  # rounded each by itself
        assert not count or side["reasons"]["source"][row] in set(reasons)
    # The heat is of all warps: one alone waits for less.
    assert sum(cycles) > 8 * max(data["sides"][0]["resources"]["threads"] // 32, 1)


def test_against(program, folder):
    out = os.path.join(folder, "two.html")
    run(program, ["inspect", "kernels/tutorials/matmul.py", "-i", "matmul_f16", "--against", "num_warps=8, BN=32", "-o", out])
    data = read_page(out)
    first, second = (dict(side["configuration"]) for side in data["sides"])
    assert (first["num_warps"], first["BN"]) != ("8", "32") and (second["num_warps"], second["BN"]) == ("8", "32")
    assert [side["resources"]["threads"] for side in data["sides"]] == [int(first["num_warps"]) * 32, 256]
    assert pane(data["sides"][0], "ptx")["text"] != pane(data["sides"][1], "ptx")["text"]


OWN = """import triton
import triton.language as tl
from helpers import scaled


@triton.jit
def kernel(X, Y, N: tl.constexpr):
    i = tl.arange(0, N)
    x = tl.load(X + i)
    tl.store(Y + i, scaled(x))
"""
HELPERS = """import triton


@triton.jit
def scaled(x):
    return x * 2
"""


def write_commits(folder):
    """A repository with two commits of a kernel and of what it imports: its folder, and the two texts of both files."""
    repository = os.path.join(folder, "repository")
    os.mkdir(repository)
    first = (OWN, HELPERS)
    second = (OWN.replace("    x =", "    # one more line\n    x =").replace("scaled(x)", "scaled(x) + 1"), HELPERS.replace("* 2", "* 3"))
    git = ["git", "-C", repository, "-c", "user.name=a", "-c", "user.email=a@b"]
    subprocess.run([*git, "init", "-q"], check=True)
    for texts in (first, second):
        write_texts(repository, texts)
        subprocess.run([*git, "add", "."], check=True)
        subprocess.run([*git, "commit", "-q", "-m", "a commit"], check=True)
    return repository, first, second


def write_texts(repository, texts):
    for name, text in zip(("own.py", "helpers.py"), texts):
        with open(os.path.join(repository, name), "w", encoding="utf-8") as file:
            file.write(text)


# How the kernels are compiled, which no instance states.
SIGNATURE = ["-k", "kernel", "-s", "X=*fp32:16, Y=*fp32:16", "-D", "N=128"]


def test_commits(program, folder):
    """A kernel and its imports from two commits, compared with the current files."""
    repository, first, second = write_commits(folder)
    own, out = os.path.join(repository, "own.py"), os.path.join(folder, "commits.html")
    arguments = ["inspect", own, *SIGNATURE, "-o", out]

    def page(*more):
        run(program, [*arguments, *more])
        return read_page(out)

    alone = []
    for texts in (first, second):
        write_texts(repository, texts)
        alone.append(page())
    write_texts(repository, (OWN, HELPERS.replace("* 2", "* 5")))
    now = page()
    for more, want in ((["--commit", "HEAD~1", "--against", "commit=HEAD"], alone), (["--commit", "HEAD~1"], alone[:1]),
                       (["--against", "commit=HEAD num_warps=2"], [now, None])):
        data = page(*more)
        assert len(data["sides"]) == len(want)
        for side, of in zip(data["sides"], want):
            if of:
                assert pane(side, "ptx")["text"] == pane(of["sides"][0], "ptx")["text"], more
    data = page("--commit", "HEAD~1", "--against", "commit=HEAD")
    assert [side["title"] for side in data["sides"]][1] == "commit=HEAD"
    source = data["source"]
    rows = list(zip(source["change"], source["file"], source["text"]))
    assert [row for row in rows if row[0]] == [
        ("+", "own.py", "    # one more line"), ("-", "own.py", "    tl.store(Y + i, scaled(x))"),
        ("+", "own.py", "    tl.store(Y + i, scaled(x) + 1)"), ("-", "helpers.py", "    return x * 2"), ("+", "helpers.py", "    return x * 3")], rows
    # Each side's instructions belong to rows of its own text, and as many are linked as on its own page.
    for i, (side, of) in enumerate(zip(data["sides"], alone)):
        gone = "+-"[i]
        for id in ("tile", "layout", "ptx"):
            here, there = pane(side, id), pane(of["sides"][0], id)
            for links, expected in zip(here["links"], there["links"]):
                assert not any(source["change"][row] == gone for row in links)
                assert [source["text"][row] for row in links] == [of["source"]["text"][row] for row in expected]
    same = source["text"].index("    x = tl.load(X + i)")
    assert all(any(same in links for links in pane(side, "ptx")["links"]) for side in data["sides"]), "one row for both"
    for more, words in ((["--against", "commit=nowhere"], ["no commit `nowhere`", "git log"]),
                        (["--commit", "--all"], ["no commit `--all`"])):
        done = run(program, [*arguments, *more], check=False)
        assert done.returncode == 1 and "HINT: " in done.stderr and all(word in done.stderr for word in words), done.stderr
    os.rename(own, os.path.join(repository, "other.py"))
    arguments[1] = os.path.join(repository, "other.py")
    done = run(program, [*arguments, "--against", "commit=HEAD"], check=False)
    assert done.returncode == 1 and "commit HEAD has no other.py" in done.stderr, done.stderr
    done = run(program, ["inspect", "tests/replay/softmax", "--against", "commit=HEAD", "-o", out], check=False)
    assert done.returncode == 1 and "of no commit" in done.stderr, done.stderr


def test_hostile(program, folder):
    """Text of a kernel that would end the script, were it written as it is."""
    text = ('import triton\nimport triton.language as tl\n\n\n@triton.jit\ndef copy(X, Y, N: tl.constexpr):\n'
            '    """</script><script>alert(1)</script><!-- @DATA@ \u2028"""\n'
            '    i = tl.arange(0, N)  # <b>&amp;\n    tl.store(Y + i, tl.load(X + i))\n')
    file, out = os.path.join(folder, "</script>.py".replace("/", "_")), os.path.join(folder, "hostile.html")
    with open(file, "w", encoding="utf-8") as kernel:
        kernel.write(text)
    run(program, ["inspect", file, "-k", "copy", "-s", "X=*fp32:16, Y=*fp32:16", "-D", "N=128", "-o", out])
    assert read_page(out)["source"]["text"] == text.split("\n")[:-1]


def test_messages(program, folder):
    matmul = "kernels/tutorials/matmul.py"
    for arguments, words in (([matmul], ["which instance", "matmul_f16, matmul_f32"]),
                             ([matmul, "-i", "matmul_f61"], ["no instance", "matmul_f16"]),
                             ([matmul, "-i", "matmul_f16", "--target", "cpu:x86-64-v3:0000"], ["GPU targets", "--target sm_80"]),
                             ([matmul, "-i", "matmul_f16", "--against", " "], ["--against", "num_warps=8"]),
                             ([matmul, "-i", "matmul_f16", "--against", "num_warps=x"], ["num_warps=x", "num_warps=4"]),
                             ([matmul, "-i", "matmul_f16", "--against", "matmul_f32 matmul_f16"], ["two instances"]),
                             (["tests/replay/softmax", "-D", "N=1"], ["recorded launch", "--num-warps"]),
                             ([matmul, "-i", "matmul_f16", "-o", folder], ["HINT"])):
        done = run(program, ["inspect", *arguments], check=False)
        assert done.returncode == 1, (arguments, done.stderr)
        assert "HINT: " in done.stderr and all(word in done.stderr for word in words), (arguments, done.stderr)
