// Minimum, average, maximum and percentiles of the checkpoints that are known.
import { html } from "../lib/html.js";
import { percentile } from "../data/reading.js";
import { bytes, duration, plural } from "../text/numbers.js";

const SHARES = [["50 %", 0.5], ["90 %", 0.9], ["95 %", 0.95], ["99 %", 0.99], ["99.9 %", 0.999]];
const ROWS = [["Duration", "duration", duration], ["New bytes", "size", bytes], ["Full size", "full_size", bytes]];

export function Summary({ completed }) {
  if (!completed.length) return html`<p class="empty">No checkpoint has been completed yet.</p>`;
  const row = ([name, field, of]) => {
    const values = completed.map((each) => each[field]);
    const numbers = [Math.min(...values), values.reduce((a, b) => a + b, 0) / values.length, Math.max(...values), ...SHARES.map(([, share]) => percentile(values, share))];
    return html`<tr key=${name}><th scope="row">${name}</th>${numbers.map((value, index) => html`<td key=${index} class="number">${of(value)}</td>`)}</tr>`;
  };
  return html`<p class="muted">Of the last ${plural(completed.length, "completed checkpoint")}.</p>
    <div class="scroll" tabindex="0" role="group" aria-label="Summary of checkpoints"><table><caption class="unseen">Summary of checkpoints</caption>
    <thead><tr><th scope="col">Measure</th>${["Minimum", "Average", "Maximum", ...SHARES.map(([name]) => name)].map((name) => html`<th key=${name} scope="col" class="number">${name}</th>`)}</tr></thead>
    <tbody>${ROWS.map(row)}</tbody></table></div>`;
}
