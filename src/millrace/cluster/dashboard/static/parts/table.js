// A table that can be sorted by its heads. Columns are {name, of (what is shown), by (what it is sorted by), number, wide}.
import { Fragment, html, useState } from "../lib/html.js";

export function Table({ caption, columns, rows, keyOf, opened = undefined, open = undefined, detail = undefined, sortedBy = null, descending = false, empty = "Nothing here." }) {
  const [order, setOrder] = useState({ by: sortedBy, descending });
  if (!rows.length) return html`<p class="empty">${empty}</p>`;
  const sorted = sort(rows, columns[order.by], order.descending);
  const head = (column, index) => html`<th key=${column.name} scope="col" class=${column.number ? "number" : ""} aria-sort=${sorting(order, index)}>
    ${column.by ? html`<button type="button" class="head" onClick=${() => setOrder({ by: index, descending: order.by === index ? !order.descending : Boolean(column.number) })}>
      ${column.name}<span class="arrow" aria-hidden="true">${order.by === index ? (order.descending ? "▾" : "▴") : ""}</span></button>` : column.name}</th>`;
  const row = (each, index) => {
    const key = keyOf(each, index);
    const cells = columns.map((column, place) => {
      const content = column.of(each);
      const first = place === 0;
      const shown = first && open ? html`<button type="button" class="link" aria-expanded=${detail ? String(opened === key) : undefined} onClick=${() => open(key)}>${content}</button>` : content;
      return first
        ? html`<th key=${column.name} scope="row" class=${`${column.number ? "number" : ""} ${column.wide ? "wide" : ""}`}>${shown}</th>`
        : html`<td key=${column.name} class=${column.number ? "number" : ""}>${shown}</td>`;
    });
    return html`<${Fragment} key=${key}><tr class=${opened === key ? "opened" : ""}>${cells}</tr>
      ${detail && opened === key && html`<tr class="detail"><td colspan=${columns.length}>${detail(each)}</td></tr>`}<//>`;
  };
  return html`<div class="scroll" tabindex="0" role="group" aria-label=${caption}><table>
    <caption class="unseen">${caption}</caption>
    <thead><tr>${columns.map(head)}</tr></thead>
    <tbody>${sorted.map(row)}</tbody>
  </table></div>`;
}

const sorting = (order, index) => (order.by !== index ? undefined : order.descending ? "descending" : "ascending");

function sort(rows, column, descending) {
  if (!column?.by) return rows;
  const sorted = [...rows].sort((a, b) => compare(column.by(a), column.by(b)));
  return descending ? sorted.reverse() : sorted;
}

const compare = (a, b) => (typeof a === "string" || typeof b === "string" ? String(a ?? "").localeCompare(String(b ?? "")) : (a ?? -Infinity) - (b ?? -Infinity));
