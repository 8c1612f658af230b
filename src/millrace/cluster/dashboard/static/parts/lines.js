// Values over time: lines with axes, and the values under the pointer.
import { html, useState } from "../lib/html.js";
import { brief, bytes, plain } from "../text/numbers.js";
import { clock } from "../text/times.js";
import { ticks } from "./scale.js";
import { useWidth } from "./small.js";

const LEFT = 58;
const BOTTOM = 20;
const TOP = 8;

// Axes have little room.
const ticked = (of) => (of === plain ? (value) => (Math.abs(value) < 1 ? plain(value) : brief(value)) : of);

// series: [{name, points: [[at, value], ...]}]; of: how a value is written.
export function Lines({ title, series, height = 150, of = plain, clockwise = true }) {
  const [ref, width] = useWidth();
  const [at, setAt] = useState(null);
  const filled = series.filter((each) => each.points.length);
  const all = filled.flatMap((each) => each.points);
  if (all.length < 2) return html`<div class="chart" ref=${ref}><strong>${title}</strong><p class="empty">Collecting values …</p></div>`;
  const from = Math.min(...all.map((point) => point[0]));
  const to = Math.max(from + 1, ...all.map((point) => point[0]));
  const low = Math.min(0, ...all.map((point) => point[1]));
  const high = Math.max(low + 1e-9, ...all.map((point) => point[1]));
  const x = (value) => LEFT + ((value - from) / (to - from)) * Math.max(1, width - LEFT - 8);
  const y = (value) => TOP + (1 - (value - low) / (high - low)) * (height - TOP - BOTTOM);
  const label = clockwise ? clock : plain;
  const move = (event) => setAt(from + ((event.offsetX - LEFT) / Math.max(1, width - LEFT - 8)) * (to - from));
  const values = filled.map((each) => ({ name: each.name, point: nearest(each.points, at ?? to) }));
  return html`<figure class="chart" ref=${ref}>
    <figcaption><strong>${title}</strong>${values.map(
      (each, index) => html`<span key=${each.name} class="legend"><i class=${`line-${index % 6}`} aria-hidden="true"></i>${each.name} <b>${of(each.point[1])}</b></span>`,
    )}<span class="legend muted">${label(at === null ? to : values[0].point[0])}</span></figcaption>
    ${width > 0 && html`<svg width=${width} height=${height} role="img" aria-label=${`${title}: ${values.map((each) => `${each.name} ${of(each.point[1])}`).join(", ")}`}
        onPointerMove=${move} onPointerLeave=${() => setAt(null)}>
      ${ticks(low, high, 3, of === bytes).map((value) => html`<g key=${value}><line class="grid" x1=${LEFT} x2=${width - 8} y1=${y(value)} y2=${y(value)} />
        <text class="tick" x=${LEFT - 6} y=${y(value) + 4} text-anchor="end">${ticked(of)(value)}</text></g>`)}
      <text class="tick" x=${LEFT} y=${height - 4}>${label(from)}</text>
      <text class="tick" x=${width - 8} y=${height - 4} text-anchor="end">${label(to)}</text>
      ${filled.map((each, index) => html`<path key=${each.name} class=${`line line-${index % 6}`} d=${each.points.map((point, place) => `${place ? "L" : "M"}${x(point[0]).toFixed(1)},${y(point[1]).toFixed(1)}`).join("")} />`)}
      ${at !== null && html`<line class="cursor" x1=${x(values[0].point[0])} x2=${x(values[0].point[0])} y1=${TOP} y2=${height - BOTTOM} />`}
    </svg>`}
  </figure>`;
}

const nearest = (points, at) => points.reduce((best, point) => (Math.abs(point[0] - at) < Math.abs(best[0] - at) ? point : best));

// A line without words, for a cell of a table.
export function Spark({ points, label }) {
  if (points.length < 2) return null;
  const values = points.slice(-60);
  const high = Math.max(1e-9, ...values.map((point) => point[1]));
  const d = values.map((point, index) => `${index ? "L" : "M"}${((index / (values.length - 1)) * 78 + 1).toFixed(1)},${(19 - (point[1] / high) * 17).toFixed(1)}`).join("");
  return html`<svg class="spark" width="80" height="20" role="img" aria-label=${label}><path class="line line-0" d=${d} /></svg>`;
}
