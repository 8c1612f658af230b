// How much state there is, in which states, and which keys are heaviest.
import { html } from "../lib/html.js";
import { sum } from "../data/reading.js";
import { Bar, Section } from "../parts/small.js";
import { Table } from "../parts/table.js";
import { bytes, percent } from "../text/numbers.js";

export function StatePage({ job }) {
  const states = job.vertices.flatMap((vertex) => Object.entries(vertex.states).map(([name, size]) => ({ vertex, name, size })));
  const largest = Math.max(1, ...states.map((each) => each.size));
  const total = states.reduce((all, each) => all + each.size, 0);
  const keys = job.vertices.flatMap((vertex) => vertex.heavy_keys.map((key) => ({ vertex, ...key })));
  const spread = job.vertices.filter((vertex) => sum(vertex, "state_bytes") > 0);
  return html`<${Section} title="Sizes by state" actions=${html`<span class="muted">${bytes(total)} in all</span>`}>
      <${Table} caption="States" rows=${states} keyOf=${(each) => `${each.vertex.id} ${each.name}`} sortedBy=${2} descending empty="No state is known of." columns=${[
        { name: "State", of: (each) => html`<code>${each.name}</code>`, by: (each) => each.name },
        { name: "Vertex", of: (each) => each.vertex.name, by: (each) => each.vertex.name },
        { name: "Size", number: true, of: (each) => bytes(each.size), by: (each) => each.size },
        { name: "Share", of: (each) => html`<${Bar} share=${each.size / largest} label=${percent(each.size / Math.max(1, total))} /> ${percent(each.size / Math.max(1, total))}`, by: (each) => each.size },
      ]} /><//>
    <${Section} title="Spread over subtasks"><${Table} caption="State of subtasks" rows=${spread} keyOf=${(vertex) => vertex.id} empty="No subtask holds state." columns=${[
      { name: "Vertex", of: (vertex) => vertex.name, by: (vertex) => vertex.name },
      { name: "State", number: true, of: (vertex) => bytes(sum(vertex, "state_bytes")), by: (vertex) => sum(vertex, "state_bytes") },
      { name: "Largest subtask", number: true, of: (vertex) => bytes(top(vertex).state_bytes), by: (vertex) => top(vertex).state_bytes },
      { name: "Which", number: true, of: (vertex) => top(vertex).index },
      { name: "Each subtask", of: (vertex) => html`<${Columns} vertex=${vertex} />` },
    ]} /><//>
    <${Section} title="Heaviest keys"><${Table} caption="Heaviest keys" rows=${keys} keyOf=${(each) => `${each.vertex.id} ${each.key}`} sortedBy=${2} descending empty="No key has a large share." columns=${[
      { name: "Key", of: (each) => html`<code>${each.key}</code>`, by: (each) => each.key },
      { name: "Vertex", of: (each) => each.vertex.name, by: (each) => each.vertex.name },
      { name: "Share of the input", of: (each) => html`<${Bar} share=${each.share} kind=${each.share > 0.3 ? "hot" : ""} label=${percent(each.share)} /> ${percent(each.share)}`, by: (each) => each.share },
    ]} /><//>`;
}

const top = (vertex) => vertex.subtasks.reduce((a, b) => (b.state_bytes > a.state_bytes ? b : a));

function Columns({ vertex }) {
  const most = Math.max(1, top(vertex).state_bytes);
  const text = vertex.subtasks.map((each) => bytes(each.state_bytes)).join(", ");
  return html`<span class="columns" role="img" aria-label=${text} title=${text}>${vertex.subtasks.map((each) => html`<i key=${each.index} style=${{ height: `${Math.max(4, (each.state_bytes / most) * 100)}%` }}></i>`)}</span>`;
}
