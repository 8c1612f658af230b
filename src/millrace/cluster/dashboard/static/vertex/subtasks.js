// The subtasks of a vertex as a table.
import { html } from "../lib/html.js";
import { State } from "../parts/state.js";
import { Table } from "../parts/table.js";
import { brief, bytes, duration, percent } from "../text/numbers.js";
import { Time, Watermark } from "../text/times.js";

export function Subtasks({ job, vertex }) {
  const lasting = (each) => (each.started < 0 ? -1 : (each.ended < 0 ? job.written : each.ended) - each.started);
  return html`<${Table} caption="Subtasks" rows=${vertex.subtasks} keyOf=${(each) => each.index} empty="No subtask has been started yet." columns=${[
    { name: "Nr", of: (each) => each.index, by: (each) => each.index },
    { name: "State", of: (each) => html`<${State} state=${each.state} />`, by: (each) => each.state },
    { name: "Records in", number: true, of: (each) => brief(each.records_in), by: (each) => each.records_in },
    { name: "Records out", number: true, of: (each) => brief(each.records_out), by: (each) => each.records_out },
    { name: "Busy", number: true, of: (each) => percent(each.busy), by: (each) => each.busy },
    { name: "Watermark", of: (each) => html`<${Watermark} ms=${each.watermark} />`, by: (each) => each.watermark },
    { name: "State size", number: true, of: (each) => bytes(each.state_bytes), by: (each) => each.state_bytes },
    { name: "Bytes in", number: true, of: (each) => bytes(each.bytes_in), by: (each) => each.bytes_in },
    { name: "Bytes out", number: true, of: (each) => bytes(each.bytes_out), by: (each) => each.bytes_out },
    { name: "Attempt", number: true, of: (each) => each.attempt + 1, by: (each) => each.attempt },
    { name: "Host", of: (each) => each.host || "–", by: (each) => each.host },
    { name: "Started", of: (each) => html`<${Time} ms=${each.started} />`, by: (each) => each.started },
    { name: "Duration", number: true, of: (each) => duration(lasting(each)), by: lasting },
  ]} />`;
}
