// What the job runs with.
import { html } from "../lib/html.js";
import { Facts, KeyValues, Section } from "../parts/small.js";

export function Configuration({ job }) {
  return html`<${Section} title="Execution"><${Facts} facts=${[
      ["Mode", job.batch ? "batch" : "streaming"],
      ["Parallelism", job.parallelism],
      ["Largest parallelism", job.max_parallelism],
      ["Restart strategy", job.restart_strategy || "none"],
      ["Objects are reused", job.object_reuse ? "yes" : "no"],
      job.process > 0 && ["Process", job.process],
    ]} /><//>
    <${Section} title="Settings of the program and the command line"><${KeyValues} caption="Settings" entries=${Object.entries(job.configuration).sort()} /><//>
    <${Section} title="Global job parameters"><${KeyValues} caption="Global job parameters" entries=${Object.entries(job.parameters).sort()} /><//>
    ${job.accumulators.length > 0 && html`<${Section} title="Accumulators"><${KeyValues} caption="Accumulators" entries=${job.accumulators.map((each) => [each.name, each.value])} /><//>`}
    ${job.metrics.length > 0 && html`<${Section} title="Metrics of the job"><${KeyValues} caption="Metrics of the job" entries=${job.metrics.map((each) => [each.name, String(each.value ?? "")])} /><//>`}`;
}
