// tools/inspect/page.js - the page of `tessera inspect`: panes (kernel, MLIR, PTX, SASS) whose rows are linked through the lines of
// the kernel, and tables of resources, stalls and remarks. tools/inspect/Side.h describes the data.
// SPDX-License-Identifier: Apache-2.0
'use strict';
const inspect = {};
(() => {
const data = JSON.parse(document.getElementById('data').textContent);
const rowHeight = 18, chunkRows = 100;

function make(tag, attributes, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes || {}))
    if (value === true) node.setAttribute(name, '');
    else if (value !== false && value !== null) node.setAttribute(name, value);
  node.append(...children);
  return node;
}
const count = n => n.toLocaleString('en');
const change = data.source.change;
const placeOf = row => data.source.file[row] + ':' + data.source.line[row] + ({'-': ' of A', '+': ' of B'}[change[row]] || '');

// --- Panes -------------------------------------------------------------------
// Pane 0 is the source pane with the kernel's files. Each pane has `text` (its rows), `links` and `by`. links[row] lists rows of the
// source pane: the row's own line first, then the lines of its callers. `by` is the reverse map: for a row of the source pane, the
// rows of this pane for which it is the own line (`on`) or a caller's line (`via`).
const panes = [];
function addPane(id, title, text, links, shown, side) {
  const pane = {id, title, text, links, side, rows: [], by: new Map(), cur: -1, width: String(text.length).length};
  links.forEach((list, row) => list.forEach((source, place) => {
    if (!pane.by.has(source)) pane.by.set(source, {on: [], via: []});
    pane.by.get(source)[place ? 'via' : 'on'].push(row);
  }));
  pane.index = panes.length;
  pane.box = make('div', {class: 'rows', tabindex: 0, role: 'region', 'aria-label': title, 'data-pane': pane.index});
  pane.node = make('section', {class: 'pane', id, hidden: !shown}, make('h2', {}, title), pane.box);
  for (let at = 0; at < text.length; at += chunkRows) {
    const size = Math.min(chunkRows, text.length - at);
    const chunk = make('div', {class: 'chunk', style: `--high:${size * rowHeight}px`});
    for (let row = at; row < at + size; ++row) {
      const node = make('div', {class: 'row', 'data-row': row}, text[row]);
      pane.rows.push(node);
      chunk.append(node);
    }
    pane.box.append(chunk);
  }
  panes.push(pane);
  document.getElementById('panes').append(pane.node);
}
const sides = data.sides, names = sides.length > 1 ? ['A', 'B'] : [''];
addPane('source', 'Kernel', data.source.text, data.source.text.map((_, row) => [row]), true, -1);
// If the sides A and B have different texts of a file, marks rows that only one of them has.
change.forEach((mark, row) => {
  if (mark) panes[0].rows[row].classList.add(mark === '+' ? 'added' : 'removed');
});
for (const id of ['tile', 'layout', 'ptx', 'sass'])
  sides.forEach((side, i) => {
    const pane = side.panes.find(each => each.id === id);
    if (pane)
      addPane(names[i] ? id + '-' + names[i] : id, names[i] ? `${pane.title}, ${names[i]}: ${side.title}` : pane.title,
              pane.text, pane.links, id === 'ptx' || (sides.length === 1 && id === 'sass'), i);
  });

// --- Highlighting ------------------------------------------------------------
let lit = [], pinned = null;
const status = document.getElementById('status');
function clear() {
  for (const node of lit) node.classList.remove('on', 'via');
  lit = [];
}
// Highlights the rows of all panes that come from a row of the source pane, and describes it in the status line.
function show(source) {
  clear();
  if (source === undefined || source === null) {
    status.textContent = '';
    return;
  }
  const parts = [];
  for (const pane of panes) {
    const found = pane.by.get(source);
    if (!found) continue;
    for (const kind of ['via', 'on'])
      for (const row of found[kind]) {
        pane.rows[row].classList.add(kind);
        lit.push(pane.rows[row]);
      }
    if (pane.index) parts.push(`${found.on.length} ${pane.title}`);
  }
  status.textContent = [placeOf(source), ...parts, ...heatText(source)].join(' · ');
}
function heatText(source) {
  return sides.flatMap((side, i) => Object.entries(side.heat.source).filter(([, list]) => list[source])
    .map(([what, list]) => `${count(list[source])} ${what === 'instructions' ? 'PTX instructions' : what}${names[i] && ' ' + names[i]}`));
}
const sourceOf = (pane, row) => pane.links[row] && pane.links[row][0];
function reveal(pane, source) {
  const found = pane.by.get(source);
  if (!found || pane.node.hidden) return;
  const rows = found.on.length ? found.on : found.via;
  const top = pane.box.scrollTop / rowHeight, fit = pane.box.clientHeight / rowHeight;
  if (!rows.some(row => row > top && row < top + fit - 1))
    pane.box.scrollTop = Math.max(0, (rows[0] - fit / 3) * rowHeight);
}
function pin(source, from) {
  pinned = source === undefined ? null : source;
  document.body.classList.toggle('pinned', pinned !== null);
  show(pinned);
  if (pinned !== null)
    for (const pane of panes) if (pane !== from) reveal(pane, pinned);
}
function current(pane, row) {
  if (pane.cur >= 0) pane.rows[pane.cur].classList.remove('cur');
  pane.cur = Math.max(0, Math.min(row, pane.rows.length - 1));
  if (!pane.rows.length) return;
  pane.rows[pane.cur].classList.add('cur');
  const top = pane.cur * rowHeight;
  if (top < pane.box.scrollTop) pane.box.scrollTop = top;
  if (top + 2 * rowHeight > pane.box.scrollTop + pane.box.clientHeight)
    pane.box.scrollTop = top + 2 * rowHeight - pane.box.clientHeight;
}
const main = document.getElementById('panes');
function rowAt(event) {
  const node = event.target.closest && event.target.closest('.row');
  return node ? [panes[+node.closest('.rows').dataset.pane], +node.dataset.row] : null;
}
main.addEventListener('mouseover', event => {
  const at = rowAt(event);
  if (at && pinned === null) show(sourceOf(...at));
});
main.addEventListener('mouseleave', () => show(pinned));
main.addEventListener('click', event => {
  const at = rowAt(event);
  if (!at || String(getSelection())) return;
  const source = sourceOf(...at);
  current(...at);
  pin(source === pinned ? undefined : source, at[0]);
});

// --- Keyboard ----------------------------------------------------------------
function stepLinked(pane, by) {
  const source = pinned !== null ? pinned : sourceOf(pane, pane.cur);
  const rows = (pane.by.get(source) || {on: []}).on;
  const next = by > 0 ? rows.find(row => row > pane.cur) : rows.filter(row => row < pane.cur).pop();
  if (next !== undefined) current(pane, next);
}
document.addEventListener('keydown', event => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.target.tagName === 'SELECT') return;
  const pane = event.target.classList.contains('rows') ? panes[+event.target.dataset.pane] : null;
  const page = pane ? Math.max(1, Math.floor(pane.box.clientHeight / rowHeight) - 2) : 1;
  const steps = {ArrowDown: 1, ArrowUp: -1, j: 1, k: -1, PageDown: page, PageUp: -page, Home: -Infinity, End: Infinity};
  if (event.key === 'Escape') pin(undefined);
  else if (/^[1-9]$/.test(event.key) && panes[event.key - 1]) togglePane(panes[event.key - 1]);
  else if (event.key === 't') changeTheme();
  else if (pane && event.key in steps) {
    const to = pane.cur + steps[event.key];
    current(pane, Number.isFinite(to) ? to : to > 0 ? pane.rows.length - 1 : 0);
    if (pinned === null) show(sourceOf(pane, pane.cur));
  } else if (pane && event.key === 'Enter') {
    const source = sourceOf(pane, pane.cur);
    pin(source === pinned ? undefined : source, pane);
  } else if (pane && (event.key === 'n' || event.key === 'p')) stepLinked(pane, event.key === 'n' ? 1 : -1);
  else if (pane && (event.key === 'ArrowRight' || event.key === 'ArrowLeft')) {
    const open = panes.filter(each => !each.node.hidden);
    const next = open[open.indexOf(pane) + (event.key === 'ArrowRight' ? 1 : -1)];
    if (next) next.box.focus();
  } else return;
  event.preventDefault();
});

// --- Toolbar: panes, heat, colours -------------------------------------------
const bar = document.getElementById('bar');
function togglePane(pane) {
  pane.node.hidden = !pane.node.hidden;
  pane.check.checked = !pane.node.hidden;
  if (pinned !== null) reveal(pane, pinned);
}
for (const pane of panes) {
  pane.check = make('input', {type: 'checkbox'});
  pane.check.checked = !pane.node.hidden;
  pane.check.addEventListener('change', () => togglePane(pane));
  bar.append(make('label', {}, pane.check, ' ' + pane.title + ' ', make('kbd', {}, String(pane.index + 1))));
}
const heatNames = {executed: 'executed warp instructions', sectors: 'global sectors', conflicts: 'bank conflicts (extra passes)',
  passes: 'passes over the banks', requests: 'memory requests', instructions: 'instructions in the PTX',
  stalls: 'stall cycles, estimated'};
const known = Object.keys(heatNames).filter(what => sides.some(side => what in side.heat.ptx));
const choice = make('select', {id: 'heat'}, ...known.map(what => make('option', {value: what}, heatNames[what])),
                    make('option', {value: ''}, 'nothing'));
function paintHeat() {
  for (const pane of panes) {
    const marks = !pane.index && change.some(mark => mark) ? 1 : 0; // width of a + or -
    // The source pane shows the heat of A, and that of B for rows that only B has.
    const sourceHeat = side => sides[side] && sides[side].heat.source[choice.value];
    const of = pane.index ? pane.id.startsWith('ptx') && sides[pane.side].heat.ptx[choice.value]
      : sourceHeat(0) && sourceHeat(0).map((value, row) => change[row] === '+' && sourceHeat(1) ? sourceHeat(1)[row] : value);
    const most = of ? of.reduce((a, b) => Math.max(a, b), 0) : 0;
    const reasons = choice.value === 'stalls' && of && (pane.index ? sides[pane.side].reasons.ptx
      : sides[0].reasons.source.map((reason, row) => change[row] === '+' ? sides[1].reasons.source[row] : reason));
    pane.rows.forEach((node, row) => {
      const mark = pane.index ? '' : change[row];
      const label = pane.index ? String(row + 1) : data.source.line[row] ? String(data.source.line[row]) : '';
      const value = most && of[row] || 0;
      node.dataset.n = mark + label.padStart(pane.width + marks - mark.length) + (most ? ' ' + (value ? count(value) : '').padStart(count(most).length) : '');
      if (reasons && value) node.title = `waits for ${reasons[row]}`;
      else node.removeAttribute('title');
      // The square root keeps other rows visible if one row is much hotter.
      if (value) node.style.setProperty('--h', Math.sqrt(value / most).toFixed(3));
      else node.style.removeProperty('--h');
    });
  }
}
choice.addEventListener('change', paintHeat);
bar.append(make('label', {}, 'heat: ', choice));
function changeTheme() {
  const root = document.documentElement, dark = root.dataset.theme
    ? root.dataset.theme === 'dark' : matchMedia('(prefers-color-scheme: dark)').matches;
  root.dataset.theme = dark ? 'light' : 'dark';
}
const theme = make('button', {type: 'button'}, 'light or dark ', make('kbd', {}, 't'));
theme.addEventListener('click', changeTheme);
bar.append(theme, make('span', {class: 'hint'}, 'click or Enter pins a line, Esc frees it, n and p go to its next and last one'));

// --- Facts -------------------------------------------------------------------
const facts = document.getElementById('facts');
function table(head, rows) {
  const body = rows.map(cells => {
    const differs = cells.length === 3 && cells[1] !== cells[2];
    return make('tr', {class: differs ? 'differs' : null}, ...cells.map((cell, i) =>
      make(i ? 'td' : 'th', {class: i && typeof cell === 'number' ? 'number' : null},
           cell === null || cell === undefined ? '?' : typeof cell === 'number' ? count(cell) : cell)));
  });
  return make('table', {}, ...(head ? [make('tr', {}, ...head.map(cell => make('th', {}, cell)))] : []), ...body);
}
function article(title, ...children) {
  const node = make('article', {}, make('h2', {}, title), ...children);
  facts.append(node);
  return node;
}
const both = (title, pick) => [title, ...sides.map(pick)];
const head = sides.length > 1 ? ['', ...names] : null;
function sourceLink(row, text) {
  const button = make('button', {type: 'button', class: 'link'}, text);
  button.addEventListener('click', () => pin(row));
  return row >= 0 ? button : make('span', {}, text);
}
function sharedMemory(side, name) {
  const buffers = side.resources.shared_buffers, all = side.resources.shared || 1;
  const lanes = []; // ends of the rows of the strip; buffers that overlap are in different rows
  const strip = make('div', {class: 'smem'});
  for (const buffer of buffers) {
    let lane = lanes.findIndex(end => end <= buffer.offset);
    if (lane < 0) lane = lanes.push(0) - 1;
    lanes[lane] = buffer.offset + buffer.bytes;
    strip.append(make('div', {style: `left:${100 * buffer.offset / all}%;width:${100 * buffer.bytes / all}%;top:${lane * 18}px`,
      title: `${buffer.name}: ${count(buffer.bytes)} bytes at ${count(buffer.offset)}`}, buffer.name));
  }
  strip.style.height = lanes.length * 18 + 2 + 'px';
  const rows = buffers.map(b => [b.name, b.bytes, b.offset, b.line === null ? '' : 'line ' + b.line]);
  return [make('h3', {}, `${name ? name + ': ' : ''}${count(side.resources.shared)} bytes`),
          ...(buffers.length ? [strip, table(['buffer', 'bytes', 'at', ''], rows)] : [])];
}
article('Resources', table(head, [
  both('target', side => side.target),
  both('threads of a block', side => side.resources.threads),
  both('registers of a thread', side => side.resources.registers),
  both('spilled, bytes stored and loaded', side => side.resources.registers === null ? null
    : `${side.resources.spill_stores} and ${side.resources.spill_loads}`),
  both('shared memory, bytes', side => side.resources.shared),
  both('blocks on an SM', side => side.resources.blocks_per_sm),
  both('limited by', side => side.resources.limited_by),
  ...['registers', 'shared memory'].map(limit => both(`blocks if ${limit} were no limit`, side => {
    const row = side.occupancy.slice(1).find(each => each.limit === limit);
    return row ? row.blocks : null;
  })),
  both('warps on an SM', side => side.occupancy.length ? `${side.occupancy[0].warps} of ${side.occupancy[0].most_warps}` : null),
  both('stages of asynchronous copies', side => side.resources.async_stages),
]), ...(sides[0].resources.registers === null
  ? [make('p', {class: 'hint'}, 'Registers are known where there is ptxas.')] : []));
article('Shared memory', ...sides.flatMap((side, i) => sharedMemory(side, names[i])));
// At most 12 lines with estimated stalls; those with the most cycles on the first side come first.
const waits = sides.map(side => side.heat.source.stalls || []);
const waited = waits.map(list => list.reduce((a, b) => a + b, 0));
const slow = [...data.source.text.keys()].filter(row => waits.some(list => list[row]))
  .sort((a, b) => waits[0][b] - waits[0][a]).slice(0, 12);
if (slow.length)
  article('Estimated stalls', table(head, slow.map(row => both(`${placeOf(row)} ${data.source.text[row].trim().slice(0, 60)}`, side => {
    const i = sides.indexOf(side), cycles = waits[i][row];
    return cycles ? `${(100 * cycles / waited[i]).toFixed(0)} %, ${side.reasons.source[row]}` : '';
  }))), make('p', {class: 'hint'}, 'by the latency of what an instruction needs, for one warp alone; other warps hide part of it'));
const keys = [...new Set(sides.flatMap(side => side.configuration.map(pair => pair[0])))];
article('Configuration', table(head, keys.map(key => both(key, side => {
  const pair = side.configuration.find(each => each[0] === key);
  return pair ? pair[1] : '';
}))));
const remarks = sides.flatMap((side, i) => side.remarks.map(remark => make('p', {},
  names[i] && names[i] + ': ', sourceLink(remark.row, remark.place), ' ' + remark.text,
  ...(remark.hint ? [make('br'), make('span', {class: 'hint'}, remark.hint)] : []))));
article('Remarks', ...(remarks.length ? remarks : [make('p', {class: 'hint'}, 'None: the compiler left nothing undone that it knows of.')]));
if (sides.some(side => side.counters))
  article('Counted on the simulator', table(head, Object.keys(sides.find(side => side.counters).counters)
    .map(key => both(key.replace(/_/g, ' '), side => side.counters ? side.counters[key] : null))));
if (data.tuned)
  article(`Tuned: ${data.tuned.device}`, data.tuned.rows.length
    ? table(['for', 'runs', 'time, us', 'own configuration, us', ''],
            data.tuned.rows.map(row => [row.key, row.use, row.time_us, row.default_us || '', row.note]))
    : make('p', {class: 'hint'}, 'The table has no row for this kernel and these types.'));
document.getElementById('summary').textContent = sides.map((side, i) =>
  `${names[i] && names[i] + ': '}${side.title} for ${side.target}`).join(' — ');
paintHeat();
// The page opens at the hottest line.
const heat = sides[0].heat.source[choice.value] || [];
if (heat.some(value => value)) {
  const hottest = heat.indexOf(Math.max(...heat));
  for (const pane of panes) reveal(pane, hottest);
  current(panes[0], hottest);
}
Object.assign(inspect, {sides, names, panes, pin, make, article, sourceLink, placeOf});
})();
