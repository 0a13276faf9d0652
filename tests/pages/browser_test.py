# tests/pages/browser_test.py TESSERA [FOLDER] - pages in headless chromium: hover, click, keys, colours, print, drawings,
# curves, and a page of 5,000 lines of PTX. Writes the screenshots of the documentation to FOLDER where it is given.
# SPDX-License-Identifier: Apache-2.0
import json
import os
import sys
import tempfile

from chromium import Chromium
from inspect_test import SIGNATURE, write_commits
from page_data import KERNELS, pane, read_page, run
from report_test import points, write_run, write_trace, write_tuning

# What is lit, by the id of the pane: {"ptx": [[rows of the line], [rows that call it]]}.
LIT = """Object.fromEntries([...document.querySelectorAll('.pane')].map(pane => [pane.id,
  ['on', 'via'].map(kind => [...pane.querySelectorAll('.row.' + kind)].map(row => +row.dataset.row))]))"""


def row_place(browser, pane_id, row):
    """Scrolls to a row and returns a position within it."""
    return browser.value(f"""(() => {{ const row = document.querySelector('#{pane_id} .row[data-row="{row}"]');
      row.scrollIntoView({{block: 'center', inline: 'start'}}); const box = row.getBoundingClientRect();
      const rows = row.closest('.rows').getBoundingClientRect();
      return [Math.max(box.left, rows.left) + 30, box.top + box.height / 2]; }})()""")


def point_nowhere(browser):
    browser.value("window.scrollTo(0, 0)")
    browser.mouse("mouseMoved", 5, 5)


def expected(data, source):
    """Rows by pane that belong to a row of the source, as the data say."""
    lit = {"source": [[source], []]}
    for part in data["sides"][0]["panes"]:
        links = part["links"]
        lit[part["id"]] = [[row for row, list in enumerate(links) if list[:1] == [source]],
                           [row for row, list in enumerate(links) if source in list[1:]]]
    return lit


def none(data):
    return {name: [[], []] for name in ["source"] + [part["id"] for part in data["sides"][0]["panes"]]}


def check_opening(browser, data, name):
    """Kernel, PTX and SASS are shown, at the line with most of the heat; the IR on demand."""
    shown = browser.value("[...document.querySelectorAll('.pane:not([hidden])')].map(pane => pane.id)")
    assert shown == ["source", "ptx", *(part["id"] for part in data["sides"][0]["panes"] if part["id"] == "sass")], f"{name}: {shown}"
    heat = data["sides"][0]["heat"]["source"][browser.value("document.querySelector('#heat').value")]
    hottest = heat.index(max(heat))
    ptx = [row for row, links in enumerate(pane(data["sides"][0], "ptx")["links"]) if links[:1] == [hottest]]
    seen = browser.value("""((rows) => Object.entries(rows).map(([id, list]) => { const box = document.querySelector(`#${id} .rows`)
      .getBoundingClientRect(); return list.some(row => { const at = document.querySelector(`#${id} .row[data-row="${row}"]`)
        .getBoundingClientRect(); return at.top >= box.top && at.bottom <= box.bottom; }); }))(""" + json.dumps({"source": [hottest], "ptx": ptx}) + ")")
    assert seen == [True, True], f"{name}: the hottest line is out of sight: {seen}"
    for key in "23":
        browser.key(key)


def check_hover(browser, data, name):
    ptx = pane(data["sides"][0], "ptx")
    sources = sorted({links[0] for links in ptx["links"] if links})
    # From the kernel to all panes: every fourth line that has PTX.
    for source in sources[::4]:
        browser.mouse("mouseMoved", *row_place(browser, "source", source))
        got, want = browser.value(LIT), expected(data, source)
        assert got == want, f"{name}: over line {data['source']['line'][source]}: {got}, want {want}"
    # From each pane back: a row in its middle.
    for part in data["sides"][0]["panes"]:
        linked = [row for row, links in enumerate(part["links"]) if links]
        for row in (linked[0], linked[len(linked) // 2], linked[-1]):
            browser.mouse("mouseMoved", *row_place(browser, part["id"], row))
            got, want = browser.value(LIT), expected(data, part["links"][row][0])
            assert got == want, f"{name}: over {part['id']} {row + 1}: {got}, want {want}"
    point_nowhere(browser)
    assert browser.value(LIT) == none(data), f"{name}: lit though nothing is pointed at"


def check_keys(browser, data):
    """A click pins a line and scrolls the other panes to it; keys walk and free it."""
    ptx = pane(data["sides"][0], "ptx")
    last = max(row for row, links in enumerate(ptx["links"]) if links)
    source = ptx["links"][last][0]
    browser.value("document.querySelectorAll('.rows').forEach(box => box.scrollTop = 0)")
    browser.click(*row_place(browser, "source", source))
    assert browser.value(LIT) == expected(data, source)
    seen = browser.value("""(() => { const box = document.querySelector('#ptx .rows').getBoundingClientRect();
      return [...document.querySelectorAll('#ptx .row.on')].some(row => { const at = row.getBoundingClientRect();
        return at.top >= box.top && at.bottom <= box.bottom; }); })()""")
    assert seen, "the PTX of a pinned line is out of sight"
    browser.mouse("mouseMoved", *row_place(browser, "source", 0))
    assert browser.value(LIT) == expected(data, source), "pointing elsewhere changes a pinned line"
    browser.key("Escape")
    point_nowhere(browser)
    assert browser.value(LIT) == none(data)
    # Without a mouse: to the pane, down to a line, pin, to the next pane.
    browser.value("document.querySelector('#source .rows').focus()")
    browser.key("Home")
    for _ in range(source):
        browser.key("ArrowDown")
    browser.key("Enter")
    assert browser.value(LIT) == expected(data, source), "keys do not pin the line"
    browser.key("ArrowRight")
    assert browser.value("document.activeElement.closest('.pane').id") == "ptx"
    browser.key("2")
    assert browser.value("document.querySelector('#tile').hidden") is False
    browser.key("2")
    browser.key("Escape")
    assert browser.value(LIT) == none(data)


def check_colours(browser):
    back = "getComputedStyle(document.body).backgroundColor"
    assert browser.value(back) == "rgb(255, 255, 255)"
    browser.media(scheme="dark")
    assert browser.value(back) == "rgb(13, 17, 23)"
    browser.key("t")
    assert browser.value(back) == "rgb(255, 255, 255)"
    browser.key("t")
    assert browser.value(back) == "rgb(13, 17, 23)"
    browser.media(media="print", scheme="dark")
    assert browser.value(back) == "rgb(255, 255, 255)", "paper is white"
    assert browser.value("document.querySelector('#ptx .rows').clientHeight >= document.querySelector('#ptx .rows').scrollHeight"
                         ) is True, "a printed pane is cut off"
    browser.media()
    assert browser.pdf().startswith(b"%PDF")


def element_of(bases, place):
    """The XOR of the bases of the set bits of `place`, first dimension in the lowest bits."""
    element = None
    for list_ in bases.values():
        for base in list_:
            if place & 1:
                element = base if element is None else [a ^ b for a, b in zip(element, base)]
            place >>= 1
    return element


def check_drawings(browser, data):
    """Compares the page's text for an element of a tile, and its colour, with the bases."""
    browser.value("window.scrollTo(0, document.body.scrollHeight)")
    tiles = data["sides"][0]["tiles"]
    choices = browser.value("[...document.querySelector('[aria-label=tile]').options].map(option => +option.value)")
    assert sorted(choices) == list(range(len(tiles)))
    for wanted in ("offset", "lane"):
        number = next(i for i in choices if wanted in tiles[i]["bases"] and len(tiles[i]["shape"]) == 2)
        tile, bits = tiles[number], {dim: len(list_) for dim, list_ in tiles[number]["bases"].items()}
        browser.value(f"""(() => {{ const select = document.querySelector('[aria-label=tile]'); select.value = {number};
          select.dispatchEvent(new Event('change')); document.querySelector('canvas.tile').scrollIntoView({{block: 'center'}}); }})()""")
        left, top, wide = browser.value("(() => { const canvas = document.querySelector('canvas.tile'), box = "
                                        "canvas.getBoundingClientRect(); return [box.left, box.top, canvas.width]; })()")
        cell = wide / tile["shape"][1]
        colours = {}
        # Read once: chromium has a word to say about canvases that are read again and again.
        browser.value("void (window.pixels = document.querySelector('canvas.tile').getContext('2d').getImageData(0, 0, "
                      "document.querySelector('canvas.tile').width, document.querySelector('canvas.tile').height))"
                      if wanted == "offset" else "0")
        for place in (1, 5, 37, 2 ** min(sum(bits.values()) - 1, 9)):
            row, column = element_of(tile["bases"], place)
            browser.mouse("mouseMoved", left + (column + .5) * cell, top + (row + .5) * cell)
            said = browser.value("document.querySelector('canvas.tile + .note').textContent")
            assert said.startswith(f"[{row}, {column}]: "), f"{said}: the pointer is at {row}, {column}"
            if wanted == "offset":
                bank = place * tile["bits"] // 32 % 32
                assert f"offset {place}," in said and said.endswith(f"bank {bank}"), said
                key = bank
            else:
                first = next(each for each in range(place + 1) if (element_of(tile["bases"], each) or [0, 0]) == [row, column])
                rest, parts = first, []
                for dim, count in bits.items():
                    parts.append(f"{dim} {rest % 2 ** count}")
                    rest >>= count
                assert all(part in said for part in parts), (said, parts)
                continue
            pixel = 4 * (int((row + .4) * cell) * int(wide) + int((column + .4) * cell))
            colour = browser.value(f"window.pixels.data.slice({pixel}, {pixel + 4}).join()")
            assert colours.setdefault(key, colour) == colour and list(colours.values()).count(colour) == 1, colours
    marks = browser.value("document.querySelectorAll('.timeline .mark.mma').length")
    line = data["sides"][0]["timeline"]
    iterations = max([2] + [group["iterations"] + 1 for group in line["groups"]])
    assert marks == iterations * line["kinds"].count("mma"), marks


def check_heat(browser, folder, program):
    page = os.path.join(folder, "case.html")
    run(program, ["inspect", "tests/replay/own_matmul-bf16.matmul_plain", "-o", page])
    data = read_page(page)
    browser.open(page)
    executed = data["sides"][0]["heat"]["ptx"]["executed"]
    shown = browser.value("[...document.querySelectorAll('#ptx .row')].map(row => +(row.style.getPropertyValue('--h') || 0))")
    assert [bool(value) for value in shown] == [bool(value) for value in executed]
    hottest = executed.index(max(executed))
    assert shown[hottest] == 1 and f"{max(executed):,}" in browser.value(
        f"document.querySelectorAll('#ptx .row')[{hottest}].dataset.n")
    browser.value("(() => { const heat = document.querySelector('#heat'); heat.value = 'sectors'; "
                  "heat.dispatchEvent(new Event('change')); })()")
    sectors = data["sides"][0]["heat"]["ptx"]["sectors"]
    shown = browser.value("[...document.querySelectorAll('#ptx .row')].map(row => !!row.style.getPropertyValue('--h'))")
    assert shown == [bool(value) for value in sectors] and any(shown)
    check_stalls(browser, data)


def check_stalls(browser, data):
    """The heat of stall cycles: a row that waits has its reason as tooltip, and the table the longest lines."""
    browser.value("(() => { const heat = document.querySelector('#heat'); heat.value = 'stalls'; heat.dispatchEvent(new Event('change')); })()")
    side = data["sides"][0]
    for id, of in (("ptx", "ptx"), ("source", "source")):
        want = [f"waits for {reason}" if cycles else "" for cycles, reason in zip(side["heat"][of]["stalls"], side["reasons"][of])]
        assert browser.value(f"[...document.querySelectorAll('#{id} .row')].map(row => row.title)") == want and any(want), id
    text = browser.value("[...document.querySelectorAll('article')].map(each => each.textContent)")
    stalls, list_ = next(each for each in text if each.startswith("Estimated stalls")), side["heat"]["source"]["stalls"]
    most = max(range(len(list_)), key=lambda row: list_[row])
    assert f"{100 * list_[most] / sum(list_):.0f} %, {side['reasons']['source'][most]}" in stalls, stalls
    browser.value("(() => { const heat = document.querySelector('#heat'); heat.value = ''; heat.dispatchEvent(new Event('change')); })()")
    assert browser.value("document.querySelectorAll('.row[title]').length") == 0


def check_report(browser, folder, program):
    """Curves of two runs: every point of the folder is on its line, and the pointer reads it."""
    runs = [os.path.join(folder, name) for name in ("slow", "fast")]
    records = [write_run(path, rate, 40) for path, rate in zip(runs, (0.5, 0.6))]
    write_trace(runs[1])
    write_tuning(runs[1])
    page = os.path.join(folder, "report.html")
    run(program, ["report", *runs, "-o", page])
    browser.open(page)
    charts = browser.value("[...document.querySelectorAll('figure')].map(figure => figure.id)")
    assert charts[:4] == ["chart-bpb", "chart-tokens_per_s", "chart-lr", "chart-grad_norm"], charts
    gates = browser.value("[document.querySelector('#folded').open, ...[...document.querySelectorAll('#folded figure')].map(each => each.id)]")
    assert gates[0] is False and "chart-gate_cmp" in gates and all(each.startswith(("chart-gate_", "chart-sel_")) for each in gates[1:]), gates
    labels = browser.value("[...document.querySelectorAll('figure')].map(figure => [...figure.querySelectorAll('text.tick')].map(text => "
                           "[text.getAttribute('text-anchor'), text.textContent].join()))")
    assert all(len(set(list_)) == len(list_) >= 4 and not any("-0" in label for label in list_) for list_ in labels), labels
    legend = browser.value("[...document.querySelectorAll('#chart-bpb .legend span')].map(each => each.textContent.trim())")
    assert legend == ["training", "held-out"], legend
    assert {"chart-grad_norm", "chart-step_ms", "chart-tokens_per_s", "chart-gate_cmp",
                                         "chart-memory_bytes", "chart-stages_ms"} <= set(charts), charts
    outside = browser.value("""[...document.querySelectorAll('figure svg text')].filter(text => {
      const box = text.getBBox(), view = text.ownerSVGElement.viewBox.baseVal;
      return box.x < 0 || box.x + box.width > view.width || box.y + box.height > view.height;
    }).map(text => text.textContent)""")
    assert outside == [], outside
    lines = browser.value("""[...document.querySelectorAll('#chart-bpb polyline')].map(line =>
      [line.dataset.run, line.dataset.key, line.getAttribute('points').split(' ').map(point => point.split(',').map(Number))])""")
    want = {(name, key): points(written, key) for name, written in zip(("slow", "fast"), records) for key in ("bpb", "val_bpb")}
    assert {(name, key) for name, key, _ in lines} == set(want)
    # One scale for all of them: positions are the values, up to one factor and one offset for the complete picture.
    pairs = [(value, place[1]) for name, key, places in lines for (_, value), place in zip(want[name, key], places, strict=True)]
    low, high = min(pairs), max(pairs)
    for value, y in pairs:
        expected_y = low[1] + (value - low[0]) * (high[1] - low[1]) / (high[0] - low[0])
        assert abs(y - expected_y) < 0.2, (value, y, expected_y)
    x, y = browser.value("(() => { const box = document.querySelector('#chart-bpb > svg').getBoundingClientRect(); "
                         "return [box.right - 9, box.top + box.height / 2]; })()")
    browser.mouse("mouseMoved", x, y)
    said = browser.value("document.querySelector('#chart-bpb .note').textContent")
    for name, key, value in (("slow", "bpb", 8 / 40 ** 0.5), ("fast", "val_bpb", 8.5 / 40 ** 0.6)):
        assert f"{name} {key} at step 40: {value:.5g}" in said, said
    drawn = browser.value("[...document.querySelectorAll('#chart-stages_ms polyline')].map(line => [line.dataset.run, line.dataset.key])")
    assert sorted(drawn) == sorted([name, "stages_ms." + stage] for name in ("slow", "fast") for stage in ("data", "forward", "backward")), drawn
    text = browser.value("[...document.querySelectorAll('article')].map(each => each.textContent)")
    stages = next(each for each in text if each.startswith("Breakdown of a step"))
    assert "forward40.5 ms, " in stages, stages
    traced = next(each for each in text if each.startswith("Kernels of fast"))
    assert "12.0 %2600.0ACT=relu B=32" in traced and not any(each.startswith("Kernels of slow") for each in text), traced
    tuned = next(each for each in text if each.startswith("Tuning"))
    assert "launches with a tuned configuration20" in tuned and "SHA-256c0ffee0000000000" in tuned, tuned
    differ = browser.value("[...document.querySelectorAll('article')].find(each => each.textContent.startsWith('Settings that differ'))"
                           ".textContent")
    assert "train.lr0.50.6" in differ and "train.steps" not in differ, differ
    browser.resize(390, 800)
    wide = browser.value("[...document.querySelectorAll('figure, nav')].map(each => each.getBoundingClientRect().right)")
    assert max(wide) <= 390, "the page is wider than a phone"
    browser.resize()


def check_profile(browser, folder, program):
    """Tables of a profile: sorted as their headings say, and a kernel's name leads to its page."""
    out = os.path.join(folder, "profile")
    run(program, ["profile", "--config", "configs/sim_smoke.yaml", "train.steps=9", "--steps", "1", "-o", out])
    data = read_page(os.path.join(out, "index.html"))
    browser.media(scheme="light")
    browser.open(os.path.join(out, "index.html"))
    column = """(table, column) => [...document.querySelectorAll(`#${table} tbody tr`)].map(row => row.children[column].textContent)"""
    rows = sorted(data["kernels"], key=lambda row: -row["ms"])
    assert browser.value(f"({column})('kernels', 0)") == [row["name"] for row in rows]
    shares = [f"{100 * row['ms'] / data['total_ms']:.1f} % " for row in rows]
    assert browser.value(f"({column})('kernels', 4)") == shares, shares
    names = sorted(row["name"] for row in rows)
    for turned in (False, True):
        browser.value("document.querySelector('#kernels thead button').click()")
        assert browser.value(f"({column})('kernels', 0)") == (names[::-1] if turned else names)
        assert browser.value("document.querySelector('#kernels th').getAttribute('aria-sort')") == ("descending" if turned else "ascending")
    assert browser.value(f"({column})('phases', 0)") == [row["name"] for row in sorted(data["phases"], key=lambda row: -row["ms"])]
    assert browser.value(f"({column})('steps', 0)") == ["3"]
    assert browser.value("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    browser.media(scheme="dark")
    assert browser.value("getComputedStyle(document.body).backgroundColor") == "rgb(13, 17, 23)"
    browser.media()
    href = browser.value("[...document.querySelectorAll('#kernels a')].find(each => each.textContent === 'rmsnorm_bwd').href")
    assert href.endswith("/profile/kernels/rmsnorm_bwd.html"), href
    browser.open(href.removeprefix("file://"))
    assert browser.value("document.title") == "tessera inspect: rmsnorm_bwd"


def check_long(browser, folder, program):
    """5,000 lines of PTX: chunks out of sight are not laid out, and far lines are still linked."""
    kernel = os.path.join(folder, "long.py")
    with open(kernel, "w", encoding="utf-8") as file:
        file.write("import triton\nimport triton.language as tl\n\n\n@triton.jit\ndef long(X, Y, N: tl.constexpr):\n"
                   "    i = tl.arange(0, N)\n    x = tl.load(X + i)\n    for k in tl.static_range(0, 1400):\n"
                   "        x = tl.where(x > k, x * 3.0 + k, x - 1.0)\n    tl.store(Y + i, x)\n")
    page = os.path.join(folder, "long.html")
    run(program, ["inspect", kernel, "-k", "long", "-s", "X=*fp32:16, Y=*fp32:16", "-D", "N=128", "-o", page])
    data = read_page(page)
    ptx = pane(data["sides"][0], "ptx")
    assert len(ptx["text"]) >= 5000, len(ptx["text"])
    browser.open(page)
    laid = browser.value("[...document.querySelectorAll('#ptx .chunk')].map(chunk => "
                         "chunk.firstChild.checkVisibility({contentVisibilityAuto: true}))")
    assert laid[0] and sum(laid) <= 5 < len(laid), f"{sum(laid)} of {len(laid)} chunks are laid out"
    last = max(row for row, links in enumerate(ptx["links"]) if links)
    browser.mouse("mouseMoved", *row_place(browser, "ptx", last))
    assert browser.value(LIT) == expected(data, ptx["links"][last][0])
    paint, hover = browser.value("""(async () => {
      const paint = performance.getEntriesByName('first-contentful-paint')[0];
      const row = document.querySelectorAll('#source .row')[9], start = performance.now();
      row.dispatchEvent(new MouseEvent('mouseover', {bubbles: true}));
      await new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)));
      return [paint ? paint.startTime : -1, performance.now() - start]; })()""")
    print(f"pages: {len(ptx['text'])} lines of PTX: first paint after {paint:.0f} ms, a hover over 1,400 operations {hover:.0f} ms")


def check_commits(browser, folder, program):
    """Two commits: what only one of them has is marked, and lights up in that one's panes alone."""
    repository, _, _ = write_commits(folder)
    page = os.path.join(folder, "commits.html")
    run(program, ["inspect", os.path.join(repository, "own.py"), *SIGNATURE, "--commit", "HEAD~1", "--against", "commit=HEAD", "-o", page])
    data = read_page(page)
    browser.open(page)
    change, text = data["source"]["change"], data["source"]["text"]
    for mark, kind in (("+", "added"), ("-", "removed")):
        got = browser.value(f"[...document.querySelectorAll('#source .row.{kind}')].map(row => +row.dataset.row)")
        assert got == [row for row, each in enumerate(change) if each == mark] != [], (kind, got)
    store = {mark: next(row for row in range(len(text)) if change[row] == mark and "tl.store" in text[row]) for mark in "+-"}
    for mark, lit, dark in (("-", "ptx-A", "ptx-B"), ("+", "ptx-B", "ptx-A")):
        browser.mouse("mouseMoved", *row_place(browser, "source", store[mark]))
        rows = browser.value(LIT)
        assert rows[lit][0] and rows[dark] == [[], []], (mark, rows[lit], rows[dark])
        said = browser.value("document.getElementById('status').textContent")
        assert f"own.py:{data['source']['line'][store[mark]]} of {lit[-1]}" in said, said
    browser.mouse("mouseMoved", *row_place(browser, "source", text.index("    x = tl.load(X + i)")))
    rows = browser.value(LIT)
    assert rows["ptx-A"][0] and rows["ptx-B"][0]


def take_picture_of_commits(browser, program, out, folder):
    """matmul before and after a change that gave it vector loads."""
    page = os.path.join(out, "pair.html")
    run(program, ["inspect", "kernels/tutorials/matmul.py", "-i", "matmul_f16", "--commit", "05da3af~1", "--against", "commit=05da3af",
                  "-o", page])
    data = read_page(page)
    browser.resize(1280, 640)
    browser.open(page)
    row = next(row for row, text in enumerate(data["source"]["text"]) if "b = tl.load" in text or "tl.load(b" in text)
    browser.click(*row_place(browser, "source", row))
    browser.value("window.scrollTo(0, 0)")
    browser.screenshot(os.path.join(folder, "inspect-commits.png"))
    browser.resize()


def take_screenshots(browser, page, folder):
    browser.resize(1280, 640)
    browser.open(page)
    browser.click(*row_place(browser, "source", 78))
    browser.value("window.scrollTo(0, 0)")
    browser.screenshot(os.path.join(folder, "inspect.png"))
    browser.value("(() => { const select = document.querySelector('[aria-label=tile]'); select.value = [...select.options].find("
                  "option => option.text.includes('shared')).value; select.dispatchEvent(new Event('change')); "
                  "document.querySelector('canvas.tile').closest('article').scrollIntoView(); })()")
    browser.value("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
    browser.screenshot(os.path.join(folder, "inspect-tiles.png"))
    browser.resize()


def main():
    program, shots = sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else None
    with tempfile.TemporaryDirectory() as folder, Chromium() as browser:
        os.environ["TESSERA_CACHE_DIR"] = os.path.join(folder, "cache")
        for file, instance in KERNELS:
            page = os.path.join(folder, instance + ".html")
            run(program, ["inspect", file, "-i", instance, "-o", page])
            data = read_page(page)
            browser.open(page)
            paint = browser.value("new Promise(done => new PerformanceObserver(list => done(list.getEntriesByName("
                                  "'first-contentful-paint')[0].startTime)).observe({type: 'paint', buffered: true}))")
            print(f"pages: {instance}: first paint after {paint:.0f} ms")
            check_opening(browser, data, instance)
            check_hover(browser, data, instance)
            if instance == KERNELS[0][1]:
                for key in "23":
                    browser.key(key)
                check_keys(browser, data)
                check_colours(browser)
                check_drawings(browser, data)
                if shots:
                    take_screenshots(browser, page, shots)
        check_heat(browser, folder, program)
        check_report(browser, folder, program)
        check_profile(browser, folder, program)
        check_long(browser, folder, program)
        check_commits(browser, folder, program)
        if shots:
            take_picture_of_commits(browser, program, folder, shots)
        assert not browser.problems, browser.problems
    print("pages: hover, keys, colours and print in chromium: all as the data say")


if __name__ == "__main__":
    main()
