// Operators with the user's lines, course of the records, inputs.
import { html } from "../lib/html.js";
import { skew, sum, watermark } from "../data/reading.js";
import { load, rateSeries, rates } from "../data/track.js";
import { Load } from "../graph/load.js";
import { Finding } from "../job/insights.js";
import { Lines } from "../parts/lines.js";
import { Bar, Facts } from "../parts/small.js";
import { bytes, count, percent, rate } from "../text/numbers.js";
import { Watermark } from "../text/times.js";

export function Detail({ job, vertex, findings }) {
  const now = rates(job.id, vertex.id);
  const names = new Map(job.vertices.map((each) => [each.id, each.name]));
  const own = findings.filter((finding) => finding.vertex === vertex.id);
  return html`${own.length > 0 && html`<ul class="plain noted">${own.map((finding) => html`<${Finding} key=${finding.rule} job=${job} finding=${finding} />`)}</ul>`}
    <${Facts} facts=${[
      ["Load", html`<${Load} load=${load(vertex)} />`],
      ["Records in", html`${count(sum(vertex, "records_in"))}${now && html` <span class="muted">(${rate(now.in)})</span>`}`],
      ["Records out", html`${count(sum(vertex, "records_out"))}${now && html` <span class="muted">(${rate(now.out)})</span>`}`],
      ["Bytes in and out", `${bytes(sum(vertex, "bytes_in"))}, ${bytes(sum(vertex, "bytes_out"))}`],
      ["State", bytes(sum(vertex, "state_bytes"))],
      ["Watermark", html`<${Watermark} ms=${watermark(vertex)} now=${job.written} />`],
      ["Skew", percent(skew(vertex))],
      ["Parallelism", `${vertex.parallelism} of at most ${vertex.max_parallelism}`],
      ...vertex.inputs.map((input) => [`Input ${input.number + 1}`, `${names.get(input.vertex) ?? input.vertex} (${input.ship_strategy})`]),
    ]} />
    <${Lines} title="Records per second" of=${rate} series=${[
      { name: "in", points: vertex.inputs.length ? rateSeries(job.id, vertex.id, "in") : [] },
      { name: "out", points: rateSeries(job.id, vertex.id, "out") },
    ]} />
    <h3>Operators</h3>
    <ol class="operators">${vertex.operators.map((each) => html`<li key=${each.uid}><b>${each.name}</b> <code class="origin">${each.origin}</code>
      ${each.description && each.description !== each.name && html`<p class="muted">${each.description}</p>`}<p class="uid">uid <code>${each.uid}</code></p></li>`)}</ol>
    ${vertex.heavy_keys.length > 0 && html`<h3>Heaviest keys</h3><ul class="plain">${vertex.heavy_keys.map(
      (each) => html`<li key=${each.key}><code>${each.key}</code> <${Bar} share=${each.share} kind=${each.share > 0.3 ? "hot" : ""} label=${percent(each.share)} /> ${percent(each.share)}</li>`,
    )}</ul>`}`;
}
