// tools/inspect/draw.js - draws the layouts of tiles (lanes, warps, registers, banks) and the timeline of the main loop
// for the page of `tessera inspect`; runs after page.js.
// SPDX-License-Identifier: Apache-2.0
'use strict';
(() => {
const {sides, names, panes, pin, make, article, sourceLink, placeOf} = inspect;

// --- Tiles -------------------------------------------------------------------
// `bases` is a layout (tools/inspect/Tiles.h). A place is one number that joins the indices of all its dimensions (register, lane and
// warp, or offset); the first dimension has the lowest bits. Returns the element of a place, which is the XOR of the bases of the set
// bits, or null for place 0, which holds element 0.
function elementOf(bases, place) {
  let element = null;
  for (const list of Object.values(bases))
    for (const base of list) {
      if (place & 1) element = element ? element.map((c, i) => c ^ base[i]) : base;
      place >>= 1;
    }
  return element;
}
const bitsOf = bases => Object.values(bases).reduce((sum, list) => sum + list.length, 0);
// Returns the lowest place of each element, in row-major order, and the number of places that hold the same element.
function placesOf(tile) {
  const size = tile.shape.reduce((a, b) => a * b, 1), first = new Int32Array(size).fill(-1);
  const places = 2 ** bitsOf(tile.bases);
  for (let place = 0; place < places; ++place) {
    const element = elementOf(tile.bases, place) || tile.shape.map(() => 0);
    const at = element.reduce((sum, c, i) => sum * tile.shape[i] + c, 0);
    if (first[at] < 0) first[at] = place;
  }
  return {first, copies: places / size};
}
// Splits a place into a number for each dimension, such as {register: 3, lane: 17, warp: 0}.
function split(bases, place) {
  const parts = {};
  for (const [dim, list] of Object.entries(bases)) {
    parts[dim] = place % 2 ** list.length;
    place = Math.floor(place / 2 ** list.length);
  }
  return parts;
}
// Returns the bank of an element of shared memory, which has 32 banks of 4 bytes.
const bankOf = (tile, offset) => Math.floor(offset * tile.bits / 32) % 32;
const colourings = {
  lane: (tile, parts) => [parts.lane / 32, (parts.warp || 0) % 4],
  warp: (tile, parts) => [(parts.warp || 0) * 0.382 % 1, 0],
  register: (tile, parts) => [parts.register * 0.382 % 1, 0],
  bank: (tile, parts) => [bankOf(tile, parts.offset) / 32, 0],
  'line of 128 bytes': (tile, parts) => [Math.floor(parts.offset * tile.bits / 1024) * 0.382 % 1, 0],
};
function describe(tile, row, column, places) {
  const at = row * places.columns + column, element = [];
  for (let rest = at, i = tile.shape.length; i--; rest = Math.floor(rest / tile.shape[i])) element.unshift(rest % tile.shape[i]);
  const parts = split(tile.bases, places.first[at]);
  const where = 'offset' in parts
    ? [`offset ${parts.offset}`, `byte ${parts.offset * tile.bits / 8}`, `bank ${bankOf(tile, parts.offset)}`]
    : Object.entries(parts).reverse().map(([dim, value]) => `${dim} ${value}`);
  return `[${element.join(', ')}]: ${where.join(', ')}${places.copies > 1 ? `, and ${places.copies - 1} copies` : ''}`;
}
const nameOf = tile => `${tile.shape.join('x')} ${tile.element}${'offset' in tile.bases ? ' in shared memory' : ''}`;

function tileView(side, name) {
  const select = make('select', {'aria-label': 'tile'}), by = make('select', {'aria-label': 'coloured by'});
  const canvas = make('canvas', {class: 'tile', role: 'img'}), note = make('p', {class: 'note'}), uses = make('p', {class: 'hint'});
  let places = null, tile = null, cell = 1;
  // The operands and results of tile.dot come first, then the largest tiles.
  const size = each => each.shape.reduce((a, b) => a * b, 1);
  const rank = each => (each.uses.some(use => use[0] === 'tile.dot') ? 1e9 : 0) + size(each);
  const order = side.tiles.map((_, i) => i).sort((a, b) => rank(side.tiles[b]) - rank(side.tiles[a]) || a - b);
  for (const i of order)
    select.append(make('option', {value: i}, `${nameOf(side.tiles[i])}: ${[...new Set(side.tiles[i].uses.map(use => use[0]))].join(', ')}`));
  function paint() {
    const colour = colourings[by.value], rows = places.first.length / places.columns;
    cell = Math.max(3, Math.min(16, Math.floor(1100 / places.columns)));
    canvas.width = places.columns * cell;
    canvas.height = rows * cell;
    canvas.setAttribute('aria-label', `${nameOf(tile)}, coloured by ${by.value}`);
    const context = canvas.getContext('2d');
    for (let row = 0; row < rows; ++row)
      for (let column = 0; column < places.columns; ++column) {
        const [hue, shade] = colour(tile, split(tile.bases, places.first[row * places.columns + column]));
        context.fillStyle = `hsl(${360 * hue} 70% ${72 - 11 * shade}%)`;
        context.fillRect(column * cell, row * cell, cell - (cell > 4), cell - (cell > 4));
      }
  }
  function choose() {
    tile = side.tiles[+select.value];
    places = placesOf(tile);
    places.columns = tile.shape.length ? tile.shape[tile.shape.length - 1] : 1;
    const kinds = 'offset' in tile.bases ? ['bank', 'line of 128 bytes'] : ['lane', 'warp', 'register'];
    by.replaceChildren(...kinds.map(kind => make('option', {}, kind)));
    const lines = [...new Set(tile.uses.map(use => use[1]))].slice(0, 12);
    uses.replaceChildren('lines: ', ...lines.flatMap(row => [sourceLink(row, placeOf(row)), ' ']));
    note.textContent = describe(tile, 0, 0, places);
    paint();
  }
  select.addEventListener('change', choose);
  by.addEventListener('change', paint);
  canvas.addEventListener('mousemove', event => {
    const row = Math.floor(event.offsetY / cell), column = Math.floor(event.offsetX / cell);
    if (column < places.columns && row * places.columns < places.first.length && row >= 0 && column >= 0)
      note.textContent = describe(tile, row, column, places);
  });
  if (!order.length) return [];
  choose();
  return [make('p', {}, name ? name + ': ' : '', select, ' coloured by ', by), canvas, note, uses];
}
const views = sides.flatMap((side, i) => tileView(side, names[i]));
if (views.length) article('Tiles', ...views).classList.add('wide');

// --- Timeline ----------------------------------------------------------------
const svg = (tag, attributes, ...children) => {
  const node = document.createElementNS('http://www.w3.org/2000/svg', tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  node.append(...children);
  return node;
};
const lanes = [['copy', 'asynchronous copies'], ['load', 'loads'], ['shared', 'shared memory'], ['ldmatrix', 'ldmatrix'],
  ['mma', 'tensor cores'], ['shuffle', 'shuffles'], ['store', 'stores'], ['commit', 'commits'], ['wait', 'waits'],
  ['barrier', 'barriers'], ['other', 'all else']];
function timeline(side, name) {
  const {rows, kinds, groups, lines} = side.timeline, iterations = Math.max(2, ...groups.map(group => group.iterations + 1));
  const left = 150, wide = 1100, shown = lanes.filter(([kind]) => kinds.includes(kind)), high = 16;
  const x = step => left + wide * step / (rows.length * iterations);
  const pane = panes.find(each => each.id === (name ? 'ptx-' + name : 'ptx'));
  const flights = Math.max(groups.length, 0), top = flights ? flights * 7 + 22 : 6;
  const picture = svg('svg', {viewBox: `0 0 ${left + wide + 4} ${top + shown.length * high + 20}`, class: 'timeline', role: 'img',
    'aria-label': `${iterations} iterations of the main loop`});
  const label = (text, y) => picture.append(svg('text', {x: 0, y}, text));
  if (flights) label('groups in flight', 12);
  groups.forEach((group, i) => {
    for (let iteration = 0; iteration < iterations; ++iteration) {
      const from = x(group.commit + iteration * rows.length), to = Math.min(x(group.wait + (iteration + group.iterations) * rows.length), left + wide);
      picture.append(svg('rect', {x: from, y: 8 + i * 7, width: Math.max(to - from, 1.5), height: 4, class: 'flight' + iteration % 2},
        svg('title', {}, `committed in PTX line ${rows[group.commit] + 1}, waited for in line ${rows[group.wait] + 1}` +
          (group.iterations ? `, ${group.iterations} iteration${group.iterations > 1 ? 's' : ''} later` : ''))));
    }
  });
  shown.forEach(([kind, text], lane) => {
    label(text, top + lane * high + 12);
    for (let iteration = 0; iteration < iterations; ++iteration)
      kinds.forEach((each, i) => {
        if (each !== kind) return;
        const mark = svg('rect', {x: x(i + iteration * rows.length), y: top + lane * high + 2, width: Math.max(wide / (rows.length * iterations), .8),
          height: high - 4, class: 'mark ' + kind}, svg('title', {}, `PTX line ${rows[i] + 1}: ${pane.text[rows[i]].trim()}`));
        mark.addEventListener('click', () => pane.links[rows[i]].length && pin(pane.links[rows[i]][0]));
        picture.append(mark);
      });
  });
  for (let iteration = 0; iteration <= iterations; ++iteration)
    picture.append(svg('line', {x1: x(iteration * rows.length), x2: x(iteration * rows.length), y1: 2, y2: top + shown.length * high, class: 'iteration'}));
  return [make('p', {}, `${name ? name + ': ' : ''}${iterations} iterations of the loop${lines ? ` of lines ${lines[0]} to ${lines[1]}` : ''}, `
    + `${rows.length} instructions each`), picture];
}
const loops = sides.flatMap((side, i) => side.timeline ? timeline(side, names[i]) : []);
if (loops.length)
  article('Main loop', make('p', {class: 'hint'},
    'One instruction after the other as the PTX has them, each iteration next to the following one: the order, not the time that each takes.'), ...loops)
    .classList.add('wide');
})();
