// Metrics of a vertex, picked and plotted over time. The course is kept while the page is open.
import { html, useState } from "../lib/html.js";
import { metricNames, metricSeries } from "../data/track.js";
import { recall, remember } from "../app/remembered.js";
import { Lines } from "../parts/lines.js";
import { bytes, duration, percent, plain, rate } from "../text/numbers.js";

const LINES = 6;

export function Metrics({ job, vertex }) {
  const key = `metrics.${vertex.id}`;
  const [picked, setPicked] = useState(() => recall(key, "records in\nbusy share").split("\n").filter(Boolean));
  const [wanted, setWanted] = useState("");
  const pick = (names) => {
    setPicked(names);
    remember(key, names.join("\n"));
  };
  const names = metricNames(vertex).sort((a, b) => a.localeCompare(b));
  const found = names.filter((name) => name.toLowerCase().includes(wanted.toLowerCase()));
  const toggle = (name) => pick(picked.includes(name) ? picked.filter((each) => each !== name) : [...picked, name]);
  const shown = picked.filter((name) => names.includes(name));
  return html`<details class="picker" open=${shown.length === 0}><summary>Choose metrics (${shown.length} of ${names.length})</summary>
      <label class="search">Search <input type="search" value=${wanted} onInput=${(event) => setWanted(event.target.value)} /></label>
      <fieldset><legend class="unseen">Metrics</legend>${found.map((name) => html`<label key=${name} class="check"><input type="checkbox" checked=${picked.includes(name)} onChange=${() => toggle(name)} /> ${name}</label>`)}</fieldset></details>
    ${shown.map((name) => html`<div key=${name} class="plotted"><${Lines} title=${name} of=${unit(name)} series=${vertex.subtasks.slice(0, LINES).map((each) => ({ name: `subtask ${each.index}`, points: metricSeries(job.id, vertex.id, name, each.index) }))} />
      <button type="button" class="link" onClick=${() => toggle(name)}>Remove</button></div>`)}
    ${vertex.subtasks.length > LINES && html`<p class="muted">The first ${LINES} of ${vertex.subtasks.length} subtasks.</p>`}`;
}

const unit = (name) =>
  /share$/.test(name) ? percent : /bytes|size|memory/i.test(name) ? bytes : /persecond/i.test(name) ? rate : /duration|latency|lag|timems/i.test(name) ? duration : plain;
