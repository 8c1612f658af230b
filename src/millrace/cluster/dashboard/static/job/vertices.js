// The vertices of a job as a table.
import { html } from "../lib/html.js";
import { span, stateCounts, stateOf, sum } from "../data/reading.js";
import { load } from "../data/track.js";
import { condition } from "../graph/load.js";
import { Table } from "../parts/table.js";
import { Counts, State } from "../parts/state.js";
import { brief, bytes, duration } from "../text/numbers.js";
import { Time } from "../text/times.js";

export function Vertices({ job, open, opened }) {
  const lasting = (vertex) => {
    const times = span(vertex.subtasks, job.ended >= 0 ? job.ended : job.written);
    return times ? times.ended - times.started : -1;
  };
  const columns = [
    { name: "Name", wide: true, of: (vertex) => vertex.name, by: (vertex) => vertex.name },
    { name: "State", of: (vertex) => html`<${State} state=${stateOf(vertex)} />`, by: stateOf },
    { name: "Load", of: (vertex) => html`<${How} vertex=${vertex} />`, by: (vertex) => load(vertex).busy },
    { name: "Records in", number: true, of: (vertex) => brief(sum(vertex, "records_in")), by: (vertex) => sum(vertex, "records_in") },
    { name: "Records out", number: true, of: (vertex) => brief(sum(vertex, "records_out")), by: (vertex) => sum(vertex, "records_out") },
    { name: "Bytes in", number: true, of: (vertex) => bytes(sum(vertex, "bytes_in")), by: (vertex) => sum(vertex, "bytes_in") },
    { name: "Bytes out", number: true, of: (vertex) => bytes(sum(vertex, "bytes_out")), by: (vertex) => sum(vertex, "bytes_out") },
    { name: "State size", number: true, of: (vertex) => bytes(sum(vertex, "state_bytes")), by: (vertex) => sum(vertex, "state_bytes") },
    { name: "Parallelism", number: true, of: (vertex) => vertex.parallelism, by: (vertex) => vertex.parallelism },
    { name: "Started", of: (vertex) => html`<${Time} ms=${span(vertex.subtasks, 0)?.started} />`, by: (vertex) => span(vertex.subtasks, 0)?.started },
    { name: "Duration", number: true, of: (vertex) => duration(lasting(vertex)), by: lasting },
    { name: "Tasks", of: (vertex) => html`<${Counts} counts=${stateCounts(vertex.subtasks)} />` },
  ];
  return html`<${Table} caption="Vertices of the job" columns=${columns} rows=${job.vertices} keyOf=${(vertex) => vertex.id} open=${open} opened=${opened} empty="The job has no vertices yet." />`;
}

function How({ vertex }) {
  const how = condition(load(vertex), stateOf(vertex));
  return how.text ? html`<span class=${`how ${how.kind}`}>${how.text}</span>` : html`<span class="none">–</span>`;
}
