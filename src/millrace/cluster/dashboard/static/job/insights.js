// Findings of the server in words: what is wrong, and what can be done.
import { html } from "../lib/html.js";
import { SEVERITIES } from "../parts/severities.js";
import { Time } from "../text/times.js";
import { isOver } from "../data/reading.js";

const QUESTIONS = { slow: "Why is it slow?", silent: "Why is nothing coming out?", failing: "Why does it fail?" };

export function Insights({ job, findings, open }) {
  if (findings === null) return null;
  if (!findings.length) {
    return isOver(job) ? null : html`<p class="well"><span aria-hidden="true">✓</span> Nothing stands out: no back pressure without end, no skew, watermarks move, checkpoints succeed.</p>`;
  }
  const groups = Object.keys(QUESTIONS).map((question) => [question, findings.filter((finding) => finding.question === question)]);
  const worst = (group) => ["error", "warning", "hint"].findIndex((severity) => group.some((finding) => finding.severity === severity));
  const shown = groups.filter(([, group]) => group.length).sort((a, b) => worst(a[1]) - worst(b[1]));
  return html`<section class="insights" aria-label="What stands out">${shown.map(
    ([question, group]) => html`<div key=${question} class="question"><h2>${QUESTIONS[question]}</h2>
      <ul>${group.map((finding) => html`<${Finding} key=${`${finding.rule} ${finding.vertex} ${finding.subtask}`} job=${job} finding=${finding} open=${open} />`)}</ul></div>`,
  )}</section>`;
}

// Moments are told in the user's zone.
const MOMENT = /(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d) UTC/;
const shown = (text) => text.split(MOMENT).map((part, index) => (index % 2 ? html`<${Time} ms=${Date.parse(`${part.replace(" ", "T")}Z`)} />` : held(part)));

// Numbers and their units stay on one line.
const held = (text) => text.replace(/(\d) (%|(?:ms|s|min|h|d)\b)/g, "$1\u00a0$2");

export function Finding({ job, finding, open = null }) {
  const [sign, name] = SEVERITIES[finding.severity];
  const there = job.vertices.some((vertex) => vertex.id === finding.vertex);
  return html`<li class=${`finding ${finding.severity}`}><span class="sign"><span aria-hidden="true">${sign}</span><span class="unseen">${name}: </span></span>
    <div><p>${shown(finding.text)}</p><p class="advice">${finding.advice}${there && open && html` <button type="button" class="link" onClick=${() => open(finding.vertex)}>Show the vertex</button>`}</p></div></li>`;
}
