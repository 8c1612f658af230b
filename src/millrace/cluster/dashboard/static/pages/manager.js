// The server itself: configuration, metrics, logs, threads.
import { html } from "../lib/html.js";
import { link } from "../app/router.js";
import { usePoll } from "../data/poll.js";
import { LogList } from "../parts/log_list.js";
import { MetricList } from "../parts/metric_list.js";
import { KeyValues, Section, Tabs, Waiting } from "../parts/small.js";
import { Threads } from "../parts/threads.js";

const TABS = [["configuration", "Configuration"], ["metrics", "Metrics"], ["logs", "Logs"], ["threads", "Threads"]];

export default function Manager({ way }) {
  const at = TABS.some(([tab]) => tab === way[0]) ? way[0] : "configuration";
  return html`<h1>Job manager</h1>
    <${Tabs} label="Parts of the job manager" at=${at} tabs=${TABS.map(([tab, name]) => [tab, name, link("manager", tab)])} />
    ${at === "configuration" && html`<${Configuration} />`}
    ${at === "metrics" && html`<${Section} title="Metrics"><${MetricList} path="jobmanager/metrics" /><//>`}
    ${at === "logs" && html`<${LogList} base="jobmanager" chosen=${way[1]} href=${(name) => link("manager", "logs", name)} />`}
    ${at === "threads" && html`<${Threads} path="jobmanager/thread-dump" />`}`;
}

function Configuration() {
  const answer = usePoll("jobmanager/config", 0);
  return html`<${Section} title="Configuration"><${Waiting} answer=${answer}>${(entries) => html`<${KeyValues} caption="Configuration" entries=${entries.map((each) => [each.key, each.value])} />`}<//><//>`;
}
