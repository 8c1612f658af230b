// Busy, back-pressured and idle: one word for how a vertex fares, and a bar of the three shares.
import { html } from "../lib/html.js";
import { percent } from "../text/numbers.js";

export function condition({ busy, backpressured }, state = "RUNNING") {
  if (state !== "RUNNING") return { kind: state === "FAILED" ? "failed" : "still", text: "" };
  if (busy === null && backpressured === null) return { kind: "unknown", text: "load not known" };
  if ((backpressured ?? 0) >= 0.5) return { kind: "pressed", text: `back-pressured ${percent(backpressured)}` };
  if ((busy ?? 0) >= 0.8) return { kind: "hot", text: `busy ${percent(busy)}` };
  if ((busy ?? 0) >= 0.5) return { kind: "warm", text: `busy ${percent(busy)}` };
  if ((busy ?? 0) < 0.01) return { kind: "calm", text: "idle" };
  return { kind: "calm", text: `busy ${percent(busy)}` };
}

export function Load({ load }) {
  const how = condition(load);
  const share = (name) => `${Math.min(1, Math.max(0, load[name] ?? 0)) * 100}%`;
  const both = Math.min(1, (load.busy ?? 0) + (load.backpressured ?? 0));
  const scale = both > 0 ? Math.min(1, 1 / ((load.busy ?? 0) + (load.backpressured ?? 0))) : 1;
  const title = `busy ${percent(load.busy)}, back-pressured ${percent(load.backpressured)}, idle ${percent(load.idle)} (of the subtask with most of each)`;
  return html`<span class="load" title=${title}><span class=${`how ${how.kind}`}>${how.text}</span>
    <span class="shares" aria-hidden="true"><span class="busy" style=${{ width: `calc(${share("busy")} * ${scale})` }}></span><span class="pressed" style=${{ width: `calc(${share("backpressured")} * ${scale})` }}></span></span></span>`;
}
