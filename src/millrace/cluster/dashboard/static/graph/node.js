// A vertex as a box: a button that says how it fares in words, numbers and colour.
import { html } from "../lib/html.js";
import { isEnd, skew, stateOf, sum, watermark } from "../data/reading.js";
import { load, rates } from "../data/track.js";
import { brief, duration, percent, rate } from "../text/numbers.js";
import { Watermark } from "../text/times.js";
import { State, words } from "../parts/state.js";
import { condition, Load } from "./load.js";

const UNEVEN = 0.4;

// Where there is little room: the first operator, and how many follow it.
const first = ({ name, operators }) => (operators.length > 1 ? `${operators[0].name} +${operators.length - 1}` : name);

export function Node({ job, vertex, box, style, selected, finding, open }) {
  const state = stateOf(vertex);
  const now = load(vertex);
  const speed = rates(job.id, vertex.id);
  const running = job.state === "RUNNING" && state === "RUNNING";
  const uneven = skew(vertex);
  const low = watermark(vertex);
  const how = condition(now, state);
  const flow = (name) => (running && speed ? rate(speed[name]) : brief(sum(vertex, name === "in" ? "records_in" : "records_out")));
  const reads = vertex.inputs.length > 0;
  const gives = !reads || job.vertices.some((each) => each.inputs.some((input) => input.vertex === vertex.id));
  const unit = running && speed ? "" : " records";
  const name = vertex.operators.map((each) => each.name).join(" → ") || vertex.name;
  const description = [
    name, `parallelism ${vertex.parallelism}`, words(state), running ? how.text : "", reads ? `in ${flow("in")}${unit}` : "", gives ? `out ${flow("out")}${unit}` : "",
    low !== null && !isEnd(low) && running ? `watermark ${duration(Math.max(0, job.written - low))} behind` : "",
    uneven >= UNEVEN ? `skew ${percent(uneven)}` : "", finding ? `note: ${finding.text}` : "",
  ];
  if (job.planned) {
    return html`<div class=${`node ${box.name}`} style=${style} title=${name}><span class="name">${name}</span><span class="line where"><span class="times">× ${vertex.parallelism}</span></span></div>`;
  }
  return html`<button type="button" id=${`vertex-${vertex.id}`} class=${`node ${box.name} ${how.kind} ${selected ? "selected" : ""}`} style=${style}
      aria-label=${description.filter(Boolean).join(", ")} aria-pressed=${String(selected)} title=${name} onClick=${() => open(vertex.id)}>
    <span class=${`name ${finding ? "flagged" : ""}`}>${box.name === "full" ? name : first(vertex)}</span>
    ${finding && html`<span class=${`flag ${finding.severity}`} title=${finding.text} aria-hidden="true">!</span>`}
    ${running ? html`<${Load} load=${now} />` : html`<span class="line where"><${State} state=${state} /></span>`}
    ${box.name === "full"
      ? html`<span class="line">${reads && html`<span>in <b>${flow("in")}</b></span>`}${gives && html`<span>out <b>${flow("out")}</b></span>`}<span class="times" title="parallelism">× ${vertex.parallelism}</span></span>
        <span class="line small">${low === null ? html`<span class="muted">no watermark</span>` : html`<span class="muted">watermark <${Watermark} ms=${low} /></span>`}
          ${uneven >= UNEVEN && html`<span class="skew">skew ${percent(uneven)}</span>`}</span>`
      : html`<span class="line small"><span>${reads ? `in ${flow("in")}` : `out ${flow("out")}`}</span>${uneven >= UNEVEN && html`<span class="skew">skew ${percent(uneven)}</span>`}<span class="times">× ${vertex.parallelism}</span></span>`}
  </button>`;
}
