// The user's accumulators, per subtask.
import { html } from "../lib/html.js";
import { Table } from "../parts/table.js";

export function Accumulators({ vertex }) {
  const rows = vertex.subtasks.flatMap((subtask) => subtask.accumulators.map((each) => ({ ...each, subtask: subtask.index })));
  return html`<${Table} caption="Accumulators" rows=${rows} keyOf=${(each) => `${each.name} ${each.subtask}`} empty="The functions of this vertex have no accumulators." columns=${[
    { name: "Name", of: (each) => each.name, by: (each) => each.name },
    { name: "Subtask", of: (each) => each.subtask, by: (each) => each.subtask },
    { name: "Type", of: (each) => each.type, by: (each) => each.type },
    { name: "Value", of: (each) => html`<code>${each.value}</code>`, by: (each) => each.value },
  ]} />`;
}
