// The checkpoints that are known, each with what its vertices did.
import { html, useState } from "../lib/html.js";
import { State } from "../parts/state.js";
import { Facts } from "../parts/small.js";
import { Table } from "../parts/table.js";
import { bytes, duration } from "../text/numbers.js";
import { Time } from "../text/times.js";

export function History({ job }) {
  const [opened, setOpened] = useState(null);
  return html`<${Table} caption="Checkpoints" columns=${COLUMNS} rows=${job.checkpoints.history} keyOf=${(each) => each.id} sortedBy=${0} descending
    opened=${opened} open=${(id) => setOpened(id === opened ? null : id)} detail=${(each) => html`<${Detail} job=${job} checkpoint=${each} />`} empty="No checkpoint yet." />`;
}

const acknowledged = (each) => `${each.tasks.reduce((sum, task) => sum + task.acknowledged, 0)} of ${each.tasks.reduce((sum, task) => sum + task.subtasks, 0)}`;

const COLUMNS = [
  { name: "Id", number: true, of: (each) => each.id, by: (each) => each.id },
  { name: "Kind", of: (each) => (each.savepoint ? "savepoint" : "checkpoint"), by: (each) => String(each.savepoint) },
  { name: "Status", of: (each) => html`<${State} state=${each.status} />${each.discarded && html` <span class="muted">discarded</span>`}`, by: (each) => each.status },
  { name: "Acknowledged", of: acknowledged },
  { name: "Triggered", of: (each) => html`<${Time} ms=${each.triggered} />`, by: (each) => each.triggered },
  { name: "Duration", number: true, of: (each) => duration(each.duration), by: (each) => each.duration },
  { name: "New bytes", number: true, of: (each) => bytes(each.size), by: (each) => each.size },
  { name: "Full size", number: true, of: (each) => bytes(each.full_size), by: (each) => each.full_size },
  { name: "Failure", of: (each) => each.failure?.split("\n")[0] ?? "" },
];

function Detail({ job, checkpoint }) {
  const names = new Map(job.vertices.map((vertex) => [vertex.id, vertex.name]));
  return html`<${Facts} facts=${[
      ["Path", checkpoint.path ? html`<code>${checkpoint.path}</code>` : "none"],
      ["Latest acknowledgement", html`<${Time} ms=${checkpoint.latest_ack} />`],
      checkpoint.failed >= 0 && ["Failed", html`<${Time} ms=${checkpoint.failed} />`],
    ]} />
    ${checkpoint.failure && html`<pre class="stack">${checkpoint.failure}</pre>`}
    <${Table} caption=${`Vertices of checkpoint ${checkpoint.id}`} rows=${checkpoint.tasks} keyOf=${(task) => task.vertex} empty="Nothing is known of its vertices." columns=${[
      { name: "Vertex", of: (task) => names.get(task.vertex) ?? task.vertex },
      { name: "Acknowledged", of: (task) => `${task.acknowledged} of ${task.subtasks}` },
      { name: "Duration", number: true, of: (task) => duration(task.duration), by: (task) => task.duration },
      { name: "New bytes", number: true, of: (task) => bytes(task.size), by: (task) => task.size },
      { name: "Full size", number: true, of: (task) => bytes(task.full_size), by: (task) => task.full_size },
      { name: "Largest subtask", number: true, of: (task) => (task.sizes.length ? bytes(Math.max(...task.sizes)) : "–"), by: (task) => Math.max(-1, ...task.sizes) },
    ]} />`;
}
