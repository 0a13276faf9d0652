// tools/profile/profile.js - the page of `tessera profile`: sortable tables of the steps, phases, kernels and operations of a trace.
// tools/profile/Write.h describes the data.
// SPDX-License-Identifier: Apache-2.0
'use strict';
(() => {
const data = JSON.parse(document.getElementById('data').textContent);
const facts = document.getElementById('facts');
function make(tag, attributes, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes || {})) if (value !== null) node.setAttribute(name, value);
  node.append(...children);
  return node;
}
const ms = value => value >= 100 ? value.toFixed(0) : value >= 10 ? value.toFixed(1) : value >= 1 ? value.toFixed(2) : value.toFixed(3);
const percent = value => (100 * value).toFixed(1) + ' %';
const steps = data.steps.length;

// Appends a table that the user can sort by each column: {title, of: row => number or text to sort by, show: row => node or text}.
// The first click sorts numbers in descending order, texts in ascending order. The table is first sorted by column `first`; with -1
// it is empty until a column is clicked.
function table(id, title, hint, columns, rows, first) {
  const body = make('tbody', {});
  const heads = columns.map(column => {
    const button = make('button', {type: 'button'}, column.title);
    const head = make('th', {scope: 'col'}, button);
    button.addEventListener('click', () => sort(column, head.getAttribute('aria-sort') === (numeric(column) ? 'descending' : 'ascending')));
    return head;
  });
  const numeric = column => rows.length > 0 && typeof column.of(rows[0]) === 'number';
  function sort(column, turned) {
    const descending = numeric(column) !== turned;
    const sorted = [...rows].sort((a, b) => {
      const [x, y] = [column.of(a), column.of(b)];
      return (x < y ? -1 : x > y ? 1 : 0) * (descending ? -1 : 1);
    });
    heads.forEach((head, i) => columns[i] === column ? head.setAttribute('aria-sort', descending ? 'descending' : 'ascending')
      : head.removeAttribute('aria-sort'));
    body.replaceChildren(...sorted.map(row => make('tr', {}, ...columns.map(each => make('td',
      {class: each.kind || (typeof each.of(row) === 'number' ? 'number' : null)}, each.show ? each.show(row) : each.of(row))))));
  }
  facts.append(make('article', {id}, make('h2', {}, title), ...(hint ? [make('p', {class: 'hint'}, hint)] : []),
    make('table', {}, make('thead', {}, make('tr', {}, ...heads)), body)));
  if (columns[first]) sort(columns[first], false);
}
const time = (title, of) => ({title, of, show: row => ms(of(row))});
const share = (title, of) => ({title, of, show: row => make('span', {}, percent(of(row)) + ' ',
  make('span', {class: 'part', style: `width:${(120 * of(row)).toFixed(1)}px`}))});

const run = data.run;
document.getElementById('summary').textContent = [run.command, `${steps} steps of ${ms(data.total_ms / steps)} ms`,
  `ran on ${run.device}`, run.pages ? `pages for ${run.pages}` : 'no kernels'].join(' \u2014 ');

const parts = [['kernels', 'kernels', data.kernels_ms], ['gemms', 'matrix products of torch', data.gemms_ms],
  ['outside', 'outside of both', data.outside_ms]];
facts.append(make('article', {id: 'shares'}, make('h2', {}, 'Where the time goes'),
  make('div', {class: 'share'}, ...parts.map(([kind, name, value]) => make('div', {class: kind, style: `flex:${value} 0 0`,
    title: `${name}: ${percent(value / data.total_ms)}`}, name))),
  make('p', {}, parts.map(([, name, value]) => `${name}: ${ms(value / steps)} ms a step, ${percent(value / data.total_ms)}`).join('; ') + '.'),
  make('p', {class: 'hint'}, run.host ? 'Times are those of the host: a launch on a GPU is not waited for.'
    : 'A step that is traced is slower than others: every operation is noted.')));

table('phases', 'Phases of a step', 'the mean of the steps; phases add up to the step', [
  {title: 'phase', of: row => row.name}, time('ms', row => row.ms / steps), share('share', row => row.ms / data.total_ms),
  time('in kernels', row => row.kernels_ms / steps), time('in matrix products', row => row.gemms_ms / steps)], data.phases, 1);
table('kernels', 'Kernels', 'a row for each specialization: one text, types and constexprs', [
  {title: 'kernel', of: row => row.name, show: row => row.page ? make('a', {href: row.page}, row.name) : row.name},
  {title: 'launches a step', of: row => row.launches / steps, show: row => String(+(row.launches / steps).toFixed(2))},
  {title: 'mean \u00b5s', of: row => 1e3 * row.ms / row.launches, show: row => (1e3 * row.ms / row.launches).toFixed(1)},
  time('ms a step', row => row.ms / steps), share('share', row => row.ms / data.total_ms),
  {title: 'configuration', of: row => row.configuration, kind: 'configuration'},
  {title: 'on the page', of: row => row.page ? row.shown : row.why ? 'no page: ' + row.why : '', kind: 'configuration'},
  {title: 'file', of: row => row.file || ''}], data.kernels, 4);
table('operations', 'Other operations', 'operations of torch and nodes of the backward pass, without the time of what they call', [
  {title: 'operation', of: row => row.name}, {title: 'calls a step', of: row => row.calls / steps, show: row => String(+(row.calls / steps).toFixed(2))},
  time('ms a step', row => row.ms / steps), share('share', row => row.ms / data.total_ms)], data.operations, 2);
table('steps', 'Steps', 'milliseconds', [{title: 'step', of: row => +row.name.slice(5)}, time('all', row => row.ms),
  ...data.phases.map(phase => time(phase.name, row => row.phases[phase.name] || 0))], data.steps, -1);
document.querySelector('#steps button').click();
document.querySelector('#steps button').click();
})();
