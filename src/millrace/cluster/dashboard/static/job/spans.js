// A line for each vertex: from when to when it was in which state.
import { html } from "../lib/html.js";
import { kind, words } from "../parts/state.js";
import { duration } from "../text/numbers.js";
import { local } from "../text/times.js";

export function Spans({ job, until }) {
  const from = Math.min(job.started, ...job.vertices.flatMap((vertex) => vertex.subtasks.flatMap((each) => Object.values(each.states))));
  const whole = Math.max(1, until - from);
  const place = (at) => `${((at - from) / whole) * 100}%`;
  if (!job.vertices.length) return html`<p class="empty">The job has no vertices yet.</p>`;
  return html`<div class="spans"><div class="span-axis" aria-hidden="true"><span>${local(from)}</span><span>${local(until)}</span></div>
    <ul>${job.vertices.map((vertex) => {
      const steps = course(vertex, until);
      return html`<li key=${vertex.id}><span class="span-name" title=${vertex.name}>${vertex.name}</span><span class="span-line">${steps.map(
        (step) => html`<span key=${step.state} class=${`span ${kind(step.state)}`} style=${{ left: place(step.from), width: `max(2px, ${((step.to - step.from) / whole) * 100}%)` }} title=${`${words(step.state)}: ${local(step.from)} to ${local(step.to)}, ${duration(step.to - step.from)}`}></span>`,
      )}</span><span class="span-text">${steps.filter((step) => step.to > step.from).map((step) => `${words(step.state)} ${duration(step.to - step.from)}`).slice(-2).join(", ")}</span></li>`;
    })}</ul></div>`;
}

// The states of a vertex: from when the first subtask entered it until the first one entered the next.
function course(vertex, until) {
  const entered = new Map();
  for (const each of vertex.subtasks) {
    for (const [state, at] of Object.entries(each.states)) if (at > 0) entered.set(state, Math.min(at, entered.get(state) ?? Infinity));
  }
  const steps = [...entered].sort((a, b) => a[1] - b[1]);
  const over = ["FINISHED", "CANCELED", "FAILED"];
  return steps.map(([state, from], index) => ({ state, from, to: index + 1 < steps.length ? steps[index + 1][1] : over.includes(state) ? from : until }));
}
