// What is known of one vertex, beside the graph.
import { html, useEffect, useRef } from "../lib/html.js";
import { link } from "../app/router.js";
import { stateCounts, stateOf } from "../data/reading.js";
import { watch } from "../data/track.js";
import { Tabs } from "../parts/small.js";
import { Counts, State } from "../parts/state.js";
import { Accumulators } from "./accumulators.js";
import { Detail } from "./detail.js";
import { FlamePage } from "./flame.js";
import { Machines } from "./machines.js";
import { Metrics } from "./metrics.js";
import { Pressure } from "./pressure.js";
import { Subtasks } from "./subtasks.js";
import { Watermarks } from "./watermarks.js";

const TABS = [
  ["detail", "Detail", Detail],
  ["subtasks", "Subtasks", Subtasks],
  ["watermarks", "Watermarks", Watermarks],
  ["pressure", "Back pressure", Pressure],
  ["metrics", "Metrics", Metrics],
  ["flame", "Flame graph", FlamePage],
  ["accumulators", "Accumulators", Accumulators],
  ["executors", "Executors", Machines],
];

export function Drawer({ job, vertex, findings, tab, close }) {
  const head = useRef(null);
  const at = TABS.some(([id]) => id === tab) ? tab : "detail";
  const Content = TABS.find(([id]) => id === at)[2];
  watch(job.id, vertex.id);
  useEffect(() => head.current?.focus({ preventScroll: true }), []);
  return html`<aside class="drawer" aria-label=${`Vertex ${vertex.name}`}>
    <header><h2 ref=${head} tabindex="-1">${vertex.operators.map((each) => each.name).join(" → ") || vertex.name}</h2>
      <button type="button" class="close" aria-label="Close the vertex" title="Close (Escape)" onClick=${close}>✕</button></header>
    <p class="facts-line"><${State} state=${stateOf(vertex)} /><span>parallelism ${vertex.parallelism}</span><${Counts} counts=${stateCounts(vertex.subtasks)} /></p>
    <${Tabs} label="Parts of the vertex" at=${at} tabs=${TABS.map(([id, name]) => [id, name, link("jobs", job.id, "overview", vertex.id, id)])} />
    <div class="drawer-content" tabindex="0" role="group" aria-label="What is known of it"><${Content} job=${job} vertex=${vertex} findings=${findings} /></div></aside>`;
}
