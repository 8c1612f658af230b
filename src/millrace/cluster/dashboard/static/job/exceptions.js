// Why a job failed or restarted: the user's line first, the whole story below.
import { html, useState } from "../lib/html.js";
import { Section } from "../parts/small.js";
import { plural } from "../text/numbers.js";
import { Time } from "../text/times.js";
import { Stack } from "./stack.js";

export function Exceptions({ job }) {
  const roots = job.exceptions.filter((each) => each.root);
  const [newest, ...older] = roots;
  if (!newest) return html`<${Section} title="Exceptions"><p class="empty">Nothing has failed.</p><//>`;
  return html`<${Section} title=${job.state === "FAILED" ? "Root exception" : "Latest failure"}><${Failure} failure=${newest} open /><//>
    ${older.length > 0 && html`<${Section} title="History" actions=${html`<span class="muted">${plural(roots.length, "failure")}${job.exceptions_truncated ? ", older ones are not kept" : ""}</span>`}>
      <${Causes} failures=${roots} />
      ${older.map((failure) => html`<${Failure} key=${`${failure.at} ${failure.name}`} failure=${failure} />`)}<//>`}`;
}

// Failures with the same first line are one cause.
function Causes({ failures }) {
  const counted = new Map();
  for (const each of failures) counted.set(first(each), (counted.get(first(each)) ?? 0) + 1);
  const often = [...counted].filter(([, count]) => count > 1).sort((a, b) => b[1] - a[1]);
  return often.map(([text, count]) => html`<p key=${text} class="cause"><b>${count} times</b> ${text}</p>`);
}

const first = (failure) => failure.text.trim().split("\n")[0] || failure.name;
const simple = (name) => name.split(".").pop();

function Failure({ failure, open = false }) {
  const [shown, setShown] = useState(open);
  const [line, ...rest] = failure.text.trim().split("\n");
  return html`<article class="failure"><header>
      <h3>${line.includes(simple(failure.name)) ? line : `${simple(failure.name)}: ${line}`}</h3>
      <p class="muted"><${Time} ms=${failure.at} />${failure.task && html` · <span>${failure.task}</span>`}${failure.host && html` · on ${failure.host}`}${failure.task_manager && ` (${failure.task_manager})`}
        ${Object.entries(failure.labels).map(([key, value]) => html` <span key=${key} class="label">${key}: ${value}</span>`)}</p></header>
    ${rest.length > 0 && html`<pre class="words">${rest.join("\n")}</pre>`}
    <button type="button" class="link" aria-expanded=${String(shown)} onClick=${() => setShown(!shown)}>${shown ? "Hide" : "Show"} the stack trace</button>
    ${shown && html`<${Stack} text=${failure.stacktrace} />`}
    ${failure.concurrent.length > 0 && html`<details><summary>${plural(failure.concurrent.length, "failure")} at the same time</summary>
      ${failure.concurrent.map((each, index) => html`<${Failure} key=${index} failure=${each} />`)}</details>`}
  </article>`;
}
