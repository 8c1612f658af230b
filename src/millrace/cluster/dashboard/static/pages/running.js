// Running jobs with live numbers: those of the first ones are asked for one by one.
import { html } from "../lib/html.js";
import { link } from "../app/router.js";
import { usePoll } from "../data/poll.js";
import { stateCounts } from "../data/reading.js";
import { rateSeries, rates, record } from "../data/track.js";
import { SEVERITIES } from "../parts/severities.js";
import { Spark } from "../parts/lines.js";
import { Counts, State } from "../parts/state.js";
import { duration, rate } from "../text/numbers.js";
import { Time } from "../text/times.js";

const LIVE = 12;

export function Running({ jobs }) {
  return html`<div class="scroll" tabindex="0" role="group" aria-label="Running jobs"><table><caption class="unseen">Running jobs</caption>
    <thead><tr>${["Name", "State", "What stands out", "Read", "Written", "Last checkpoint", "Running for", "Tasks"].map((name) => html`<th key=${name} scope="col">${name}</th>`)}</tr></thead>
    <tbody>${jobs.map((job, index) => html`<${Row} key=${job.jid} job=${job} live=${index < LIVE} />`)}</tbody></table></div>`;
}

function Row({ job, live }) {
  const { data } = usePoll(live ? `millrace/jobs/${job.jid}` : null, 3000, record);
  const detail = data ? details(data) : null;
  const none = html`<span class="none">–</span>`;
  return html`<tr>
    <th scope="row" class="wide"><a href=${link("jobs", job.jid)}>${job.name}</a></th>
    <td><${State} state=${job.state} /></td>
    <td class="stands-out">${live ? html`<${StandsOut} job=${job} />` : none}</td>
    <td class="kept">${detail ? html`<${Spark} points=${detail.course} label="Records read over the last minutes" /> ${rate(detail.read)}` : none}</td>
    <td>${detail ? rate(detail.written) : none}</td>
    <td>${detail?.checkpoint ? html`<${Time} ms=${detail.checkpoint.latest_ack} />` : none}</td>
    <td class="kept">${duration(job.duration)}</td>
    <td>${data ? html`<${Counts} counts=${stateCounts(data.vertices.flatMap((vertex) => vertex.subtasks))} />` : none}</td>
  </tr>`;
}

// The worst finding, and how many more there are.
function StandsOut({ job }) {
  const { data: findings } = usePoll(`millrace/jobs/${job.jid}/insights`, 6000);
  if (!findings) return null;
  const [worst, ...more] = findings;
  if (!worst) return html`<span class="muted">nothing</span>`;
  const [sign, name] = SEVERITIES[worst.severity];
  return html`<a class=${`finding ${worst.severity}`} href=${link("jobs", job.jid)} title=${worst.text}><span class="sign"><span aria-hidden="true">${sign}</span><span class="unseen">${name}: </span></span>
    <span class="one-line">${worst.text}</span>${more.length > 0 && html`<span class="muted">+${more.length}<span class="unseen"> more</span></span>`}</a>`;
}

function details(job) {
  const reads = new Set(job.vertices.flatMap((vertex) => vertex.inputs.map((input) => input.vertex)));
  const total = (vertices, name) => vertices.map((vertex) => rates(job.id, vertex.id)?.[name] ?? null).reduce((a, b) => (a === null && b === null ? null : (a ?? 0) + (b ?? 0)), null);
  const sources = job.vertices.filter((vertex) => !vertex.inputs.length);
  const sinks = job.vertices.filter((vertex) => !reads.has(vertex.id) && vertex.inputs.length);
  return {
    read: total(sources, "out"),
    written: total(sinks, "in"),
    course: sources.length ? rateSeries(job.id, sources[0].id, "out") : [],
    checkpoint: job.checkpoints.history.find((each) => each.status === "COMPLETED"),
  };
}
