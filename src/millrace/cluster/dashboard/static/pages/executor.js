// One executor: memory, metrics, logs, threads.
import { html } from "../lib/html.js";
import { link } from "../app/router.js";
import { usePoll } from "../data/poll.js";
import { Bar, Facts, Section, Tabs, Waiting } from "../parts/small.js";
import { bytes, duration, percent } from "../text/numbers.js";
import { LogList } from "../parts/log_list.js";
import { Threads } from "../parts/threads.js";
import { MetricList } from "../parts/metric_list.js";

const TABS = [["memory", "Memory"], ["metrics", "Metrics"], ["logs", "Logs"], ["threads", "Threads"]];

export default function Executor({ id, way }) {
  const at = TABS.some(([tab]) => tab === way[0]) ? way[0] : "memory";
  const base = `taskmanagers/${encodeURIComponent(id)}`;
  return html`<p class="way"><a href=${link("executors")}>Executors</a> <span aria-hidden="true">›</span></p><h1>Executor ${id}</h1>
    <${Tabs} label="Parts of the executor" at=${at} tabs=${TABS.map(([tab, name]) => [tab, name, link("executors", id, tab)])} />
    ${at === "memory" && html`<${Memory} base=${base} />`}
    ${at === "metrics" && html`<${Section} title="Metrics"><${MetricList} path=${`${base}/metrics`} /><//>`}
    ${at === "logs" && html`<${LogList} base=${base} chosen=${way[1]} href=${(name) => link("executors", id, "logs", name)} />`}
    ${at === "threads" && html`<${Threads} path=${`${base}/thread-dump`} />`}`;
}

function Memory({ base }) {
  const answer = usePoll(base, 3000);
  return html`<${Waiting} answer=${answer}>${(data) => {
    const heap = data.metrics ?? {};
    return html`<${Section} title="Machine and memory"><${Facts} facts=${[
      ["Address", data.path],
      ["Slots", `${data.slotsNumber - data.freeSlots} of ${data.slotsNumber} in use`],
      ["Cores", data.hardware.cpuCores],
      ["Memory of the machine", bytes(data.hardware.physicalMemory)],
      heap.heapMax > 0 && ["Heap", html`<${Bar} share=${heap.heapUsed / heap.heapMax} label="Heap" /> ${bytes(heap.heapUsed)} of ${bytes(heap.heapMax)} (${percent(heap.heapUsed / heap.heapMax)})`],
      heap.nonHeapUsed > 0 && ["Outside the heap", bytes(heap.nonHeapUsed)],
      ...(heap.garbageCollectors ?? []).map((each) => [each.name, `${each.count} times, ${duration(each.time)}`]),
    ]} /><//>`;
  }}<//>`;
}
