// The result of a statement: a table that changes with it, and a chart where it has numbers.
import { html, useState } from "../lib/html.js";
import { Lines } from "../parts/lines.js";
import { Bars } from "../parts/bars.js";
import { Section } from "../parts/small.js";
import { State } from "../parts/state.js";
import { plain, plural } from "../text/numbers.js";

const SHOWN = 500;
const POINTS = 60;
const NUMERIC = /^(TINYINT|SMALLINT|INT|INTEGER|BIGINT|FLOAT|DOUBLE|DECIMAL)/;
const TIME = /^(TIMESTAMP|DATE)/;

export function Results({ run }) {
  const [view, setView] = useState("table");
  const numbers = run.columns.map((column, index) => ({ ...column, index })).filter((column) => NUMERIC.test(type(column)));
  const charted = numbers.length > 0 && run.rows.length > 1;
  return html`<${Section} title=${run.statement.length > 90 ? `${run.statement.slice(0, 89)}…` : run.statement} actions=${html`<${State} state=${run.state} />
      ${charted && html`<button type="button" aria-pressed=${String(view === "chart")} onClick=${() => setView(view === "chart" ? "table" : "chart")}>${view === "chart" ? "Table" : "Chart"}</button>`}
      ${run.state === "RUNNING" && html`<button type="button" onClick=${run.stop}>Stop</button>`}`}>
    ${run.error ? html`<pre class="stack problem" role="alert">${run.error}</pre>` : view === "chart" && charted ? html`<${Chart} run=${run} numbers=${numbers} />` : html`<${Rows} run=${run} />`}<//>`;
}

const type = (column) => column.logicalType?.type ?? String(column.logicalType ?? "");
const written = (value) => (value === null ? html`<span class="none">NULL</span>` : typeof value === "object" ? JSON.stringify(value) : String(value));

function Rows({ run }) {
  if (!run.columns.length) return html`<p class="empty">${run.state === "RUNNING" ? "Waiting for the first rows …" : "No result."}</p>`;
  const rows = run.rows.slice(-SHOWN);
  return html`<p class="muted">${plural(run.rows.length, "row")}${run.changes > run.rows.length ? ` after ${plural(run.changes, "change")}` : ""}${run.cut ? ", older ones are not kept" : ""}${rows.length < run.rows.length ? `, the last ${SHOWN} are shown` : ""}</p>
    <div class="scroll tall" tabindex="0" role="group" aria-label="Rows"><table><caption class="unseen">Rows</caption>
    <thead><tr>${run.columns.map((column, index) => html`<th key=${index} scope="col" class=${NUMERIC.test(type(column)) ? "number" : ""} title=${type(column)}>${column.name}</th>`)}</tr></thead>
    <tbody>${rows.map((row, place) => html`<tr key=${run.rows.length - rows.length + place}>${row.map((value, index) => html`<td key=${index} class=${NUMERIC.test(type(run.columns[index])) ? "number" : ""}>${written(value)}</td>`)}</tr>`)}</tbody></table></div>`;
}

// Over the first column with times as lines, else over the first other column as bars.
function Chart({ run, numbers }) {
  const time = run.columns.findIndex((column) => TIME.test(type(column)));
  if (time >= 0) {
    const at = (row) => Date.parse(/Z|[+-]\d\d:\d\d$/.test(row[time]) ? row[time] : `${row[time]}Z`);
    const rows = run.rows.filter((row) => Number.isFinite(at(row))).sort((a, b) => at(a) - at(b));
    return html`<${Lines} title="Values over time" height=${240} series=${numbers.slice(0, 6).map((column) => ({ name: column.name, points: rows.map((row) => [at(row), Number(row[column.index])]) }))} />`;
  }
  const label = run.columns.findIndex((column) => !NUMERIC.test(type(column)));
  const value = numbers[numbers.length - 1];
  const bars = run.rows.slice(-POINTS).map((row, index) => ({
    key: index,
    label: label >= 0 ? String(row[label]) : String(index + 1),
    parts: [{ name: value.name, value: Math.max(0, Number(row[value.index])), kind: "part-0" }],
    title: `${label >= 0 ? row[label] : index + 1}: ${plain(Number(row[value.index]))}`,
  }));
  return html`<${Bars} title=${value.name} bars=${bars} of=${plain} height=${240} />`;
}
