// All jobs, and what the cluster has to offer.
import { html } from "../lib/html.js";
import { link } from "../app/router.js";
import { usePoll } from "../data/poll.js";
import { Bar, Section, Tile, Tiles, Waiting } from "../parts/small.js";
import { Counts, State } from "../parts/state.js";
import { Table } from "../parts/table.js";
import { count, duration, plural } from "../text/numbers.js";
import { Time } from "../text/times.js";
import { Running } from "./running.js";

const OVER = new Set(["FINISHED", "FAILED", "CANCELED"]);

export function Overview({ config }) {
  // A history server knows of jobs only.
  const live = config && !config.features["web-history"];
  const cluster = usePoll(live ? "overview" : null, 3000);
  const jobs = usePoll("jobs/overview", 3000);
  return html`<h1>Overview</h1>
    ${live && html`<${Waiting} answer=${cluster}>${(data) => html`<${Numbers} data=${data} />`}<//>`}
    <${Waiting} answer=${jobs}>${({ jobs: all }) => html`<${Jobs} jobs=${all} live=${live ?? true} />`}<//>`;
}

function Numbers({ data }) {
  const used = data["slots-total"] - data["slots-available"];
  const failed = data["jobs-failed"];
  return html`<${Tiles}>
    <${Tile} name="Running jobs" kind="large">${count(data["jobs-running"])}<//>
    <${Tile} name="Slots in use" note=${html`<${Bar} share=${data["slots-total"] ? used / data["slots-total"] : 0} label="${used} of ${data["slots-total"]}" />`}>${count(used)} <small>of ${count(data["slots-total"])}</small><//>
    <${Tile} name="Executors"><a href=${link("executors")}>${count(data.taskmanagers)}</a><//>
    <${Tile} name="Finished">${count(data["jobs-finished"])}<//>
    <${Tile} name="Canceled">${count(data["jobs-cancelled"])}<//>
    <${Tile} name="Failed" kind=${failed ? "bad" : ""}>${count(failed)}<//>
  <//>`;
}

function Jobs({ jobs, live }) {
  const running = jobs.filter((job) => !OVER.has(job.state));
  const ended = jobs.filter((job) => OVER.has(job.state));
  return html`${live && html`<${Section} title="Running jobs">${running.length ? html`<${Running} jobs=${running} />` : html`<p class="empty">No job is running. <code>millrace run -d job.py</code> starts one.</p>`}<//>`}
    <${Section} title="Completed jobs" actions=${html`<span class="muted">${plural(ended.length, "job")}</span>`}>
      <${Table} caption="Completed jobs" rows=${ended} keyOf=${(job) => job.jid} sortedBy=${2} descending columns=${COLUMNS} empty="No job has ended yet." /><//>`;
}

const COLUMNS = [
  { name: "Name", wide: true, of: (job) => html`<a href=${link("jobs", job.jid)}>${job.name}</a>`, by: (job) => job.name },
  { name: "State", of: (job) => html`<${State} state=${job.state} />`, by: (job) => job.state },
  { name: "Ended", of: (job) => html`<${Time} ms=${job["end-time"]} />`, by: (job) => job["end-time"] },
  { name: "Started", of: (job) => html`<${Time} ms=${job["start-time"]} />`, by: (job) => job["start-time"] },
  { name: "Took", number: true, of: (job) => duration(job.duration), by: (job) => job.duration },
  { name: "Tasks", of: (job) => html`<${Counts} counts=${tasks(job)} />` },
];

// Flink gives states in lower case here, and their sum as total.
export const tasks = (job) => Object.fromEntries(Object.entries(job.tasks).filter(([state]) => state !== "total").map(([state, number]) => [state.toUpperCase(), number]));
