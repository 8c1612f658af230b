// Name, state and times of a job, and what can be done with it.
import { html, useState } from "../lib/html.js";
import { link } from "../app/router.js";
import { endOf, isOver } from "../data/reading.js";
import { Copy } from "../parts/small.js";
import { State } from "../parts/state.js";
import { duration } from "../text/numbers.js";
import { Time } from "../text/times.js";
import { CancelDialog } from "./cancel.js";
import { SavepointDialog, StopDialog } from "./savepoint.js";

export function Head({ job, config }) {
  const [asked, ask] = useState(null);
  const close = () => ask(null);
  const may = !isOver(job) && job.state !== "CANCELLING" && (config?.features?.["web-cancel"] ?? true);
  return html`<div class="job-head">
    <p class="way"><a href=${link()}>Overview</a> <span aria-hidden="true">›</span> Job</p>
    <div class="title"><h1>${job.name}</h1><${State} state=${job.state} />
      <div class="actions">
        ${may && html`<button type="button" onClick=${() => ask("savepoint")}>Take savepoint</button>
          <button type="button" disabled=${!job.stoppable} title=${job.stoppable ? "" : "Its sources cannot be stopped"} onClick=${() => ask("stop")}>Stop with savepoint</button>
          <button type="button" class="danger" onClick=${() => ask("cancel")}>Cancel job</button>`}
      </div></div>
    <p class="facts-line"><span>${job.batch ? "Batch" : "Streaming"}, parallelism ${job.parallelism}</span>
      <span>started <${Time} ms=${job.started} /></span>
      <span>${isOver(job) ? html`ended <${Time} ms=${job.ended} /> after ${duration(endOf(job) - job.started)}` : `for ${duration(endOf(job) - job.started)}`}</span>
      ${job.spark_page && html`<a href=${job.spark_page} rel="noreferrer" target="_blank">Spark's page</a>`}
      <${Copy} text=${job.id} label="the job's id" /></p>
    ${asked === "cancel" && html`<${CancelDialog} job=${job} close=${close} />`}
    ${asked === "stop" && html`<${StopDialog} job=${job} close=${close} />`}
    ${asked === "savepoint" && html`<${SavepointDialog} job=${job} close=${close} />`}
  </div>`;
}
