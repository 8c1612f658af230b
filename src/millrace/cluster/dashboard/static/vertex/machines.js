// On which executors the subtasks of a vertex are.
import { html } from "../lib/html.js";
import { link } from "../app/router.js";
import { stateCounts } from "../data/reading.js";
import { Counts } from "../parts/state.js";
import { Table } from "../parts/table.js";
import { brief, bytes } from "../text/numbers.js";

export function Machines({ vertex }) {
  const groups = new Map();
  for (const each of vertex.subtasks) groups.set(each.task_manager, [...(groups.get(each.task_manager) ?? []), each]);
  const sum = (subtasks, name) => subtasks.reduce((total, each) => total + each[name], 0);
  const rows = [...groups].map(([id, subtasks]) => ({ id, subtasks }));
  return html`<${Table} caption="Executors of the vertex" rows=${rows} keyOf=${(each) => each.id} empty="No subtask has been started yet." columns=${[
    { name: "Executor", of: (each) => (each.id ? html`<a href=${link("executors", each.id)}>${each.id}</a>` : "not known"), by: (each) => each.id },
    { name: "Host", of: (each) => each.subtasks[0].host || "–", by: (each) => each.subtasks[0].host },
    { name: "Subtasks", of: (each) => each.subtasks.map((one) => one.index).join(", ") },
    { name: "States", of: (each) => html`<${Counts} counts=${stateCounts(each.subtasks)} />` },
    { name: "Records in", number: true, of: (each) => brief(sum(each.subtasks, "records_in")), by: (each) => sum(each.subtasks, "records_in") },
    { name: "Records out", number: true, of: (each) => brief(sum(each.subtasks, "records_out")), by: (each) => sum(each.subtasks, "records_out") },
    { name: "State size", number: true, of: (each) => bytes(sum(each.subtasks, "state_bytes")), by: (each) => sum(each.subtasks, "state_bytes") },
  ]} />`;
}
