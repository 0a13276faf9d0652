# tests/pages/browser_test.py TESSERA [FOLDER] - inspect pages in headless chromium: hover, click, keys, colours, print, and a
# page of 5,000 lines of PTX. Writes screenshots to FOLDER (docs/images) where it is given.
# SPDX-License-Identifier: Apache-2.0
import os
import sys
import tempfile

from chromium import Chromium
from page_data import KERNELS, ROOT, pane, read_page, run

# What is lit, by the id of the pane: {"ptx": [[rows of the line], [rows that call it]]}.
LIT = """Object.fromEntries([...document.querySelectorAll('.pane')].map(pane => [pane.id,
  ['on', 'via'].map(kind => [...pane.querySelectorAll('.row.' + kind)].map(row => +row.dataset.row))]))"""


def row_place(browser, pane_id, row):
    """A place within a row that is scrolled to."""
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
    assert browser.value("document.activeElement.closest('.pane').id") == "tile"
    browser.key("2")
    assert browser.value("document.querySelector('#tile').hidden") is True
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


def check_heat(browser, folder, program, shots):
    page = os.path.join(folder, "case.html")
    run(program, ["inspect", "tests/cases/own_matmul-bf16.matmul_plain", "-o", page])
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


def main():
    program, shots = sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else None
    with tempfile.TemporaryDirectory() as folder, Chromium() as browser:
        os.environ["TESSERA_CACHE_DIR"] = os.path.join(folder, "cache")
        for file, instance in KERNELS:
            page = os.path.join(folder, instance + ".html")
            run(program, ["inspect", file, "-i", instance, "-o", page])
            data = read_page(page)
            browser.open(page)
            paint = browser.value("performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? -1")
            print(f"pages: {instance}: first paint after {paint:.0f} ms")
            check_hover(browser, data, instance)
            if instance == KERNELS[0][1]:
                check_keys(browser, data)
                check_colours(browser)
        check_heat(browser, folder, program, shots)
        check_long(browser, folder, program)
        assert not browser.problems, browser.problems
    print("pages: hover, keys, colours and print in chromium: all as the data say")


if __name__ == "__main__":
    main()
