// One job: its head, its tabs, and the vertex that is looked into.
import { html, useEffect, useRef } from "../lib/html.js";
import { link } from "../app/router.js";
import { usePoll } from "../data/poll.js";
import { isOver } from "../data/reading.js";
import { record } from "../data/track.js";
import { announce } from "../parts/announce.js";
import { Tabs, Waiting } from "../parts/small.js";
import { words } from "../parts/state.js";
import { Checkpoints } from "./checkpoints.js";
import { Configuration } from "./configuration.js";
import { Exceptions } from "./exceptions.js";
import { Head } from "./head.js";
import { Logs } from "./logs.js";
import { Overview } from "./overview.js";
import { StatePage } from "./state.js";
import { Timeline } from "./timeline.js";

const TABS = [
  ["overview", "Overview", Overview],
  ["exceptions", "Exceptions", Exceptions],
  ["timeline", "Timeline", Timeline],
  ["checkpoints", "Checkpoints", Checkpoints],
  ["state", "State", StatePage],
  ["configuration", "Configuration", Configuration],
  ["logs", "Logs and output", Logs],
];

export default function JobPage({ id, way, config }) {
  const over = useRef(false);
  const answer = usePoll(`millrace/jobs/${id}`, over.current ? 10_000 : 2000, record);
  if (answer.data) over.current = isOver(answer.data);
  return html`<${Waiting} answer=${answer}>${(job) => html`<${Loaded} job=${job} way=${way} config=${config} />`}<//>`;
}

function Loaded({ job, way, config }) {
  const at = TABS.some(([tab]) => tab === way[0]) ? way[0] : "overview";
  const Content = TABS.find(([tab]) => tab === at)[2];
  const { data: findings } = usePoll(`millrace/jobs/${job.id}/insights`, isOver(job) ? 10_000 : 3000);
  const state = useRef(job.state);
  useEffect(() => {
    document.title = `${job.name} (${words(job.state)}) · Millrace`;
    if (state.current !== job.state) announce(`${job.name} is ${words(job.state).toLowerCase()} now`);
    state.current = job.state;
  }, [job.state]);
  const failures = job.exceptions.filter((each) => each.root).length;
  const tabs = TABS.map(([tab, name]) => [tab, name, link("jobs", job.id, tab), tab === "exceptions" && failures > 0 && html` <span class="badge">${failures}</span>`]);
  return html`<${Head} job=${job} config=${config} />
    <${Tabs} label="Parts of the job" tabs=${tabs} at=${at} />
    <${Content} job=${job} way=${way.slice(1)} findings=${findings ?? null} />`;
}
