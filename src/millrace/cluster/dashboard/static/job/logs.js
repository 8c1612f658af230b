// The job's log, and what its functions print.
import { html } from "../lib/html.js";
import { usePoll } from "../data/poll.js";
import { isOver } from "../data/reading.js";
import { LogText } from "../parts/log.js";
import { Section } from "../parts/small.js";

export function Logs({ job }) {
  const files = [job.output_file, job.log_file].filter(Boolean);
  const { data } = usePoll(files.length ? "jobmanager/logs" : null, 10_000);
  const names = data && new Set(data.logs.map((each) => each.name));
  const show = (file, none) => {
    if (!file) return html`<p class="empty">${none}</p>`;
    if (!names) return html`<p class="loading">Loading …</p>`;
    const name = file.split("/").pop();
    return names.has(name)
      ? html`<${LogText} path=${`jobmanager/logs/${encodeURIComponent(name)}`} name=${name} every=${isOver(job) ? 0 : 3000} />`
      : html`<p>It is kept in <code>${file}</code>, from where this server does not give it out.</p>`;
  };
  return html`<${Section} title="Output of the program and its functions">${show(job.output_file, "No output is kept of this job.")}<//>
    <${Section} title="Log">${show(job.log_file, "This job has no log of its own.")}<//>`;
}
