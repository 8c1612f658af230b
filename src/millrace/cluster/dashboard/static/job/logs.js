// The job's log, and what its functions print.
import { html } from "../lib/html.js";
import { isOver } from "../data/reading.js";
import { Section } from "../parts/small.js";
import { LogText } from "../parts/log.js";

const base = (path) => path.split("/").pop();

export function Logs({ job }) {
  const every = isOver(job) ? 0 : 3000;
  return html`<${Section} title="Output of the program and its functions">${job.output_file ? html`<${LogText} path=${`jobmanager/logs/${encodeURIComponent(base(job.output_file))}`} name=${base(job.output_file)} every=${every} />` : html`<p class="empty">No output is kept of this job.</p>`}<//>
    <${Section} title="Log">${job.log_file ? html`<${LogText} path=${`jobmanager/logs/${encodeURIComponent(base(job.log_file))}`} name=${base(job.log_file)} every=${every} />` : html`<p class="empty">This job has no log of its own.</p>`}<//>`;
}
