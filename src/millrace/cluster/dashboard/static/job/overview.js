// Why it is slow or silent, the graph, the vertices as a table, and the one that is looked into.
import { html, useEffect, useRef } from "../lib/html.js";
import { go } from "../app/router.js";
import { Graph } from "../graph/view.js";
import { Section } from "../parts/small.js";
import { Drawer } from "../vertex/drawer.js";
import { Insights } from "./insights.js";
import { Vertices } from "./vertices.js";

export function Overview({ job, way, findings }) {
  const [chosen, tab = "detail"] = way;
  const vertex = job.vertices.find((each) => each.id === chosen);
  const from = useRef(null);
  const open = (id) => {
    from.current = document.activeElement?.id || `vertex-${id}`;
    if (id === chosen) go("jobs", job.id, "overview");
    else go("jobs", job.id, "overview", id, tab);
  };
  const close = () => {
    go("jobs", job.id, "overview");
    document.getElementById(from.current ?? `vertex-${chosen}`)?.focus();
  };
  useEffect(() => {
    if (!vertex) return undefined;
    const leave = (event) => {
      if (event.key === "Escape" && !document.querySelector("dialog[open]")) close();
    };
    addEventListener("keydown", leave);
    return () => removeEventListener("keydown", leave);
  });
  return html`<div class=${`with-drawer ${vertex ? "open" : ""}`}><div class="beside">
      <${Insights} job=${job} findings=${findings} open=${open} />
      <${Section} title="Graph" actions=${html`<${Legend} />`}><${Graph} job=${job} selected=${vertex?.id ?? null} open=${open} findings=${findings ?? []} /><//>
      <${Section} title="Vertices"><${Vertices} job=${job} open=${open} opened=${vertex?.id} /><//>
    </div>
    ${vertex && html`<${Drawer} key=${vertex.id} job=${job} vertex=${vertex} findings=${findings ?? []} tab=${tab} close=${close} />`}</div>`;
}

function Legend() {
  return html`<span class="legends" aria-hidden="true"><span class="legend"><i class="busy"></i>busy</span><span class="legend"><i class="pressed"></i>back-pressured</span><span class="legend"><i class="idle"></i>idle</span></span>`;
}
