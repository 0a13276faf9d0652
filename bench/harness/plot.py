# bench/harness/plot.py - SVG plots of results, of benchmarks and of `tessera bench`.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
import html
import math

HEAD = ('<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" font-family="sans-serif" font-size="12">'
        '<rect width="100%%" height="100%%" fill="white"/>')
COLORS = ["#c0392b", "#e67e22", "#2c3e50", "#7f8c8d", "#16a085", "#8e44ad", "#2980b9", "#d35400"]


def lines(points, names, unit, axis):
    """Values over sizes, both axes logarithmic. points: (size, {name: value})."""
    width, height, left, bottom, top, legend = 640, 380, 60, 50, 20, 150
    sizes, values = [size for size, _ in points], [value for _, found in points for value in found.values()]
    low, high = math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)))
    high = max(high, low + 1)
    x = lambda size: left + math.log2(size / sizes[0]) / max(1, math.log2(sizes[-1] / sizes[0])) * (width - left - legend)
    y = lambda value: height - bottom - (math.log10(value) - low) / (high - low) * (height - bottom - top)
    out = [HEAD % (width, height)]
    for power in range(low, high + 1):
        out.append('<line x1="%d" x2="%d" y1="%.1f" y2="%.1f" stroke="#ddd"/><text x="%d" y="%.1f" text-anchor="end">%g %s</text>'
                   % (left, width - legend, y(10.0 ** power), y(10.0 ** power), left - 6, y(10.0 ** power) + 4, 10.0 ** power, unit))
    out += ['<text x="%.1f" y="%d" text-anchor="middle">%d</text>' % (x(size), height - bottom + 18, size) for size in sizes]
    out.append('<text x="%d" y="%d" text-anchor="middle">%s</text>' % ((left + width - legend) // 2, height - 10, axis))
    for index, name in enumerate(names):
        path = " ".join("%.1f,%.1f" % (x(size), y(found[name])) for size, found in points if name in found)
        out.append('<polyline fill="none" stroke="%s" stroke-width="2" points="%s"/><text x="%d" y="%d" fill="%s">%s</text>'
                   % (COLORS[index % len(COLORS)], path, width - legend + 10, top + 16 + 18 * index, COLORS[index % len(COLORS)], html.escape(name)))
    return "\n".join(out + ["</svg>"]) + "\n"


def bars(values, unit):
    """A bar from zero for each (name, value)."""
    left, room, step, most = 260, 350, 22, max([value for _, value in values], default=1)
    parts = [HEAD % (left + room + 110, step * len(values) + 20)]
    for i, (name, value) in enumerate(values):
        y, length = 10 + step * i, max(1.0, value / most * room)
        parts.append('<text x="%d" y="%d" text-anchor="end">%s</text><rect x="%d" y="%d" width="%.1f" height="16" fill="%s"/>'
                     '<text x="%.1f" y="%d">%.4g %s</text>'
                     % (left - 8, y + 12, html.escape(name), left, y, length, COLORS[0], left + length + 6, y + 12, value, unit))
    return "\n".join(parts + ["</svg>"]) + "\n"


def of_result(result):
    """The rows of `tessera bench`: lines over the tokens of the sequence if every row has them, else bars."""
    unit = next((unit for unit in ("us", "warp_instructions") if any(unit in row for row in result["rows"])), "us")
    rows = [row for row in result["rows"] if row.get(unit, 0) > 0]
    if not rows or not all(row.get("tokens") for row in rows):
        return bars([(row["name"], row[unit]) for row in rows], unit)
    points = {}
    for row in rows:
        points.setdefault(row["tokens"], {})[row["name"]] = row[unit]
    return lines(sorted(points.items()), list(dict.fromkeys(row["name"] for row in rows)), unit, "tokens of the sequence")


def ratios(records, title):
    """Ratios of records with `name`, `ratio`, `bar` and `met` on a logarithmic axis, with a tick at each target."""
    shown = [record for record in records if record.get("ratio")]
    low = min([0.5] + [record["ratio"] for record in shown]) * 0.9
    high = max([2.0] + [max(record["ratio"], record["bar"]) for record in shown]) * 1.1
    left, width, step = 290, 700, 20
    at = lambda ratio: left + (width - left - 60) * math.log(ratio / low) / math.log(high / low)
    parts = [HEAD % (width, step * len(shown) + 50), '<text x="%d" y="16">%s</text>' % (left, title)]
    for i, record in enumerate(shown):
        y = 30 + step * i
        begin, end = sorted((at(1), at(record["ratio"])))
        parts.append('<text x="%d" y="%d" text-anchor="end">%s</text><rect x="%.1f" y="%d" width="%.1f" height="13" fill="%s"/>'
                     '<line x1="%.1f" x2="%.1f" y1="%d" y2="%d" stroke="black"/><text x="%.1f" y="%d">%.2f</text>'
                     % (left - 8, y + 11, record["name"], begin, y, max(1.0, end - begin), "#2e7d32" if record["met"] else "#c0392b",
                        at(record["bar"]), at(record["bar"]), y - 2, y + 15, max(end, at(record["bar"])) + 5, y + 11, record["ratio"]))
    parts.append('<line x1="%.1f" x2="%.1f" y1="24" y2="%d" stroke="#888"/></svg>' % (at(1), at(1), 30 + step * len(shown)))
    return "\n".join(parts) + "\n"
