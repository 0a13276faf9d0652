// tools/report/report.js - the page of `tessera report`: charts of the metrics of training runs, and tables of their results,
// settings and kernels. tools/report/Runs.h describes the data.
// SPDX-License-Identifier: Apache-2.0
'use strict';
(() => {
const runs = JSON.parse(document.getElementById('data').textContent).runs;
function make(tag, attributes, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes || {})) if (value !== null) node.setAttribute(name, value);
  node.append(...children);
  return node;
}
function svg(tag, attributes, ...children) {
  const node = document.createElementNS('http://www.w3.org/2000/svg', tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  node.append(...children);
  return node;
}
const number = value => typeof value !== 'number' ? String(value)
  : Number.isInteger(value) ? value.toLocaleString('en') : String(+value.toPrecision(5));
// Bytes are shown in MB (10^6 bytes).
const scaled = (key, value) => key.endsWith('_bytes') ? value / 1e6 : value;
const colour = i => `hsl(${(212 + i * 137.5) % 360} 75% 48%)`;
const titles = {bpb: 'loss, bits per byte', bits_per_token: 'loss, bits per token', grad_norm: 'gradient norm, before clipping',
  lr: 'learning rate', step_ms: 'milliseconds per step', tokens_per_s: 'tokens per second', mfu: 'model FLOP utilization',
  stages_ms: 'milliseconds of the stages of a step', memory_bytes: 'memory, MB', memory_most_bytes: 'most memory so far, MB'};
// Each group becomes one chart: a metric and its held-out value (val_KEY), or all members of a metric (KEY.MEMBER), such as the
// stages of a step. What readers look for first comes first; gates and selection come last, folded.
const first = ['bpb', 'bits_per_token', 'loss', 'tokens_per_s', 'lr', 'grad_norm', 'step_ms', 'stages_ms', 'mfu', 'memory_bytes',
  'memory_most_bytes'];
const rank = key => first.includes(key) ? first.indexOf(key) : first.length;
const isFolded = key => /^(gate|sel)_/.test(key);
const keys = [...new Set(runs.flatMap(run => Object.keys(run.series)))].sort();
const groups = keys.filter(key => !key.includes('.') && !(key.startsWith('val_') && keys.includes(key.slice(4))))
  .map(key => ({key, drawn: [key, 'val_' + key].filter(each => keys.includes(each))}));
for (const key of new Set(keys.filter(each => each.includes('.')).map(each => each.slice(0, each.indexOf('.')))))
  groups.push({key, drawn: keys.filter(each => each.startsWith(key + '.'))});
groups.sort((a, b) => isFolded(a.key) - isFolded(b.key) || rank(a.key) - rank(b.key) || (a.key < b.key ? -1 : 1));
const dashes = ['none', '5 3', '1 3', '9 2 2 2', '2 2', '12 4', '4 8'];

const smooth = make('input', {type: 'checkbox'}), log = make('input', {type: 'checkbox'});
const bar = document.getElementById('bar');
bar.append(make('label', {}, smooth, ' running mean of 20 records'), make('label', {}, log, ' logarithmic'));
runs.forEach((run, i) => bar.append(make('span', {}, make('span', {class: 'chip', style: `background:${colour(i)}`}), ' ' + run.name)));

function mean(points) {
  let sum = 0;
  return points.map(([step, value], i) => {
    sum += value - (i >= 20 ? points[i - 20][1] : 0);
    return [step, sum / Math.min(i + 1, 20)];
  });
}
// Returns a multiple of 1, 2 or 5 times a power of ten that divides the range into at most `most` intervals.
function stepOf(low, high, most) {
  const rough = (high - low) / most, power = 10 ** Math.floor(Math.log10(rough));
  return power * [1, 2, 5, 10].find(factor => factor * power >= rough * 0.999);
}
// Returns [value, label] of the multiples of `step` in the range. No two have the same label.
function ticksOf(low, high, step) {
  const digits = Math.max(0, -Math.floor(Math.log10(step) + 1e-9)), ticks = [];
  for (let i = Math.ceil(low / step - 1e-9); i * step <= high + 1e-9 * step; ++i) {
    const value = i * step + 0;  // never -0
    ticks.push([value, value.toLocaleString('en', {minimumFractionDigits: digits, maximumFractionDigits: digits})]);
  }
  return ticks;
}
// Powers of ten, and their double and fivefold where those are few; within less than a factor of two, as without logarithms.
function logTicksOf(low, high) {
  const ticks = [];
  for (let power = Math.floor(low); power <= Math.ceil(high); ++power)
    for (const factor of high - low > 4 ? [1] : [1, 2, 5]) {
      const value = factor * 10 ** power;
      if (Math.log10(value) >= low - 1e-9 && Math.log10(value) <= high + 1e-9) ticks.push([value, String(+value.toPrecision(3))]);
    }
  return ticks.length >= 2 ? ticks : ticksOf(10 ** low, 10 ** high, stepOf(10 ** low, 10 ** high, 4));
}
function chart(group) {
  const wide = 560, high = 260, bottom = 26, top = 8;
  const curves = [];
  for (const [i, run] of runs.entries())
    for (const key of group.drawn) {
      const points = (run.series[key] || []).map(([step, value]) => [step, scaled(group.key, value)]);
      if (points.length) curves.push({run, i, key, points: smooth.checked && !key.startsWith('val_') ? mean(points) : points});
    }
  const all = curves.flatMap(curve => curve.points).filter(([, value]) => !log.checked || value > 0);
  const scale = value => log.checked ? Math.log10(value) : value;
  let [low, most, from, to] = all.reduce(([a, b, c, d], [step, value]) =>
    [Math.min(a, scale(value)), Math.max(b, scale(value)), Math.min(c, step), Math.max(d, step)], [Infinity, -Infinity, Infinity, -Infinity]);
  const margin = log.checked ? 0.5 : Math.abs(low) / 20 || 0.5;  // around a constant
  if (low === most) [low, most] = [low - margin, most + margin];
  if (from === to) to = from + 1;
  const apart = all.length && !log.checked ? stepOf(low, most, 5) : 0;
  if (apart) [low, most] = [Math.floor(low / apart + 1e-9) * apart, Math.ceil(most / apart - 1e-9) * apart];
  const ticks = !all.length ? [] : log.checked ? logTicksOf(low, most) : ticksOf(low, most, apart);
  const left = Math.max(62, 14 + 8 * Math.max(0, ...ticks.map(tick => tick[1].length)));  // 8 units are the width of a digit
  const x = step => left + (wide - left - 8) * (step - from) / (to - from);
  const y = value => top + (high - top - bottom) * (most - scale(value)) / (most - low);
  const picture = svg('svg', {viewBox: `0 0 ${wide} ${high}`, role: 'img', 'aria-label': titles[group.key] || group.key});
  if (!all.length) return picture;
  for (const [value, label] of ticks)
    picture.append(svg('line', {x1: left, x2: wide - 8, y1: y(value), y2: y(value), class: 'grid'}),
      svg('text', {x: left - 6, y: y(value) + 4, 'text-anchor': 'end', class: 'tick'}, label));
  const steps = ticksOf(from, to, Math.max(1, stepOf(from, to, 6)));
  // A label near the right end would cover the name of the axis.
  for (const [step, label] of steps)
    if (x(step) < wide - 60) picture.append(svg('text', {x: x(step), y: high - 8, 'text-anchor': 'middle', class: 'tick'}, label));
  picture.append(svg('text', {x: wide - 8, y: high - 8, 'text-anchor': 'end'}, 'step'));
  for (const curve of curves) {
    const points = curve.points.filter(([, value]) => !log.checked || value > 0).map(([step, value]) => `${x(step).toFixed(1)},${y(value).toFixed(1)}`);
    picture.append(svg('polyline', {points: points.join(' '), fill: 'none', stroke: colour(curve.i), 'stroke-width': 1.5,
      'stroke-dasharray': dashes[group.drawn.indexOf(curve.key) % dashes.length], 'data-run': curve.run.name, 'data-key': curve.key}));
  }
  const rule = svg('line', {y1: top, y2: high - bottom, class: 'rule', visibility: 'hidden'});
  picture.append(rule);
  picture.addEventListener('mousemove', event => {
    const box = picture.getBoundingClientRect();
    const step = from + ((event.clientX - box.left) / box.width * wide - left) / (wide - left - 8) * (to - from);
    const near = curves.map(curve => [curve, curve.points.reduce((a, b) => Math.abs(b[0] - step) < Math.abs(a[0] - step) ? b : a)]);
    rule.setAttribute('x1', x(near[0][1][0]));
    rule.setAttribute('x2', x(near[0][1][0]));
    rule.setAttribute('visibility', 'visible');
    picture.parentNode.querySelector('.note').textContent =
      near.map(([curve, [at, value]]) => `${curve.run.name} ${curve.key} at step ${at}: ${number(value)}${group.key.endsWith('_bytes') ? ' MB' : ''}`).join('  ·  ');
  });
  return picture;
}
// Names the kinds of lines of a chart with more than one.
function legend(group) {
  if (group.drawn.length < 2) return [];
  return [make('p', {class: 'legend'}, ...group.drawn.map((key, i) => {
    const line = svg('svg', {viewBox: '0 0 30 10', class: 'sample'}, svg('line', {x1: 0, x2: 30, y1: 5, y2: 5, 'stroke-dasharray': dashes[i % dashes.length]}));
    return make('span', {}, line, ' ' + (key.includes('.') ? key.slice(key.indexOf('.') + 1) : key.startsWith('val_') ? 'held-out' : 'training'));
  }))];
}
const charts = document.getElementById('charts'), folded = document.getElementById('folded');
const figure = group => make('figure', {id: 'chart-' + group.key}, make('figcaption', {}, titles[group.key] || group.key.replace(/_/g, ' ')),
  ...legend(group), chart(group), make('p', {class: 'note'}, '\u00a0'));
function draw() {
  charts.replaceChildren(...groups.filter(group => !isFolded(group.key)).map(figure));
  folded.querySelector('div').replaceChildren(...groups.filter(group => isFolded(group.key)).map(figure));
}
folded.hidden = !groups.some(group => isFolded(group.key));
smooth.addEventListener('change', draw);
log.addEventListener('change', draw);
draw();

// --- Tables ------------------------------------------------------------------
const facts = document.getElementById('facts');
function table(title, rows, hint) {
  if (!rows.length) return;
  const head = make('tr', {}, make('th', {}, ''), ...runs.map(run => make('th', {}, run.name)));
  facts.append(make('article', {}, make('h2', {}, title), ...(hint ? [make('p', {class: 'hint'}, hint)] : []),
    make('table', {}, head, ...rows.map(([name, ...cells]) => make('tr', {class: cells.some(cell => cell !== cells[0]) ? 'differs' : null},
      make('th', {}, name), ...cells.map(cell => make('td', {}, cell)))))));
}
const of = (list, pick) => list.length ? number(pick(list)) : '';
table('Last, best and middle of the curves', groups.flatMap(({drawn}) => drawn).flatMap(key => {
  const values = runs.map(run => (run.series[key] || []).map(point => point[1]));
  const middle = list => [...list].sort((a, b) => a - b)[list.length >> 1];
  return [[`${key}, last`, ...values.map(list => of(list, each => each[each.length - 1]))],
          [`${key}, least`, ...values.map(list => of(list, each => each.reduce((a, b) => Math.min(a, b))))],
          [`${key}, median`, ...values.map(list => of(list, middle))]];
}));
// The breakdown of a step's time, by the median of the records of each stage.
const stages = keys.filter(key => key.startsWith('stages_ms.')).sort();
const medians = runs.map(run => stages.map(key => {
  const list = (run.series[key] || []).map(point => point[1]).sort((a, b) => a - b);
  return list.length ? list[list.length >> 1] : null;
}));
const sums = medians.map(list => list.reduce((a, b) => a + (b || 0), 0));
table('Breakdown of a step', stages.map((key, i) => [key.slice(10), ...runs.map((run, r) => medians[r][i] === null ? ''
  : `${number(medians[r][i])} ms, ${(100 * medians[r][i] / sums[r]).toFixed(1)} %`)]), 'median of the records');
const members = name => [...new Set(runs.flatMap(run => Object.keys(run[name])))].sort();
const cell = value => value === undefined ? '' : typeof value === 'string' ? value : typeof value === 'number' ? number(value) : JSON.stringify(value);
table('Results', members('result').map(key => [key, ...runs.map(run => cell(run.result[key]))]), 'metrics.json, written at the end of a run');
const settings = members('config').map(key => [key, ...runs.map(run => cell(run.config[key]))]);
const different = settings.filter(([, ...cells]) => cells.some(each => each !== cells[0]));
if (runs.length > 1)
  table('Settings that differ', different.length ? different : [['none', ...runs.map(() => '')]]);
table('Settings', settings);
table('Kernels', [...new Set(runs.flatMap(run => run.kernels.map(pair => pair[0])))].sort().map(file => [file,
  ...runs.map(run => { const found = run.kernels.find(pair => pair[0] === file); return found ? found[1].slice(0, 12) : ''; })]),
  'files that the run used, with the first digits of their SHA-256');
const launches = {tuned: 'launches with a tuned configuration', nearest_length: 'launches with that of the nearest length',
  default: 'launches with the default configuration', path: 'table', origin: 'from', sha256: 'SHA-256'};
const tuned = runs.filter(run => Object.keys(run.tuning).length);
table('Tuning', !tuned.length ? [] : Object.entries(launches).map(([key, name]) => [name,
  ...runs.map(run => key === 'path' && run.tuning[key] === '' ? 'none' : key === 'sha256' ? (run.tuning[key] || '').slice(0, 16) : cell(run.tuning[key]))]),
  'the tuning table and the launches before the first step; tessera tune makes tables');
// For each run with a trace, a table of its kernels; the largest share of the time comes first.
for (const run of runs.filter(each => each.trace)) {
  const {steps, kernels, kernels_share: inside, gemms_share: products} = run.trace;
  const percent = value => (100 * value).toFixed(1) + ' %';
  facts.append(make('article', {class: 'traced'}, make('h2', {}, `Kernels of ${run.name}, ${steps}`),
    make('p', {class: 'hint'}, `${percent(inside)} of the time in kernels, ${percent(products)} in matrix products of torch; `
      + 'tessera profile makes such a trace with a page of each kernel'),
    make('table', {}, make('tr', {}, ...['kernel', 'share', 'launches a step', 'mean \u00b5s', 'configuration'].map(name => make('th', {}, name))),
      ...[...kernels].sort((a, b) => b.share - a.share).map(row => make('tr', {}, make('td', {}, row.name), make('td', {class: 'number'}, percent(row.share)),
        make('td', {class: 'number'}, number(row.launches)), make('td', {class: 'number'}, row.mean_us.toFixed(1)), make('td', {}, row.configuration))))));
}
table('Skipped updates', [['number', ...runs.map(run => number(run.skipped.length))],
  ...[...new Set(runs.flatMap(run => run.skipped.map(pair => pair[0])))].slice(0, 100).map(step => [`step ${step}`,
    ...runs.map(run => (run.skipped.find(pair => pair[0] === step) || ['', ''])[1])])].filter((row, i) => i || row.slice(1).some(each => each !== '0')));
document.getElementById('summary').textContent = runs.map(run =>
  run.folder + (run.unreadable ? ` (${run.unreadable} lines of metrics.jsonl cannot be read)` : '')).join(' — ');
})();
