// Bars side by side, each of several parts on top of each other.
import { html } from "../lib/html.js";
import { bytes } from "../text/numbers.js";
import { ticks } from "./scale.js";
import { useWidth } from "./small.js";

const LEFT = 58;
const BOTTOM = 20;
const TOP = 6;
const WIDEST = 34;
const FEW = 12;

// bars: [{key, label, parts: [{name, value, kind}], title}]; of: how a value is written.
export function Bars({ title, bars, of, height = 170, legend = [] }) {
  const [ref, width] = useWidth();
  if (!bars.length) return html`<div class="chart" ref=${ref}><strong>${title}</strong><p class="empty">Nothing yet.</p></div>`;
  const totals = bars.map((bar) => bar.parts.reduce((sum, part) => sum + part.value, 0));
  const high = Math.max(1e-9, ...totals);
  const room = Math.max(1, width - LEFT - 8);
  const few = bars.length <= FEW;
  const step = Math.min(few ? 3 * WIDEST : WIDEST, room / bars.length);
  const size = (value) => (value / high) * (height - TOP - BOTTOM);
  const low = height - BOTTOM;
  return html`<figure class="chart" ref=${ref}>
    <figcaption><strong>${title}</strong>${legend.map(([name, kind]) => html`<span key=${name} class="legend"><i class=${kind} aria-hidden="true"></i>${name}</span>`)}</figcaption>
    ${width > 0 && html`<svg width=${width} height=${height} role="img" aria-label=${`${title}: ${bars.length} values, the largest ${of(high)}, the last ${of(totals[totals.length - 1])}`}>
      ${ticks(0, high, 3, of === bytes).map((value) => html`<g key=${value}><line class="grid" x1=${LEFT} x2=${width - 8} y1=${low - size(value)} y2=${low - size(value)} />
        <text class="tick" x=${LEFT - 6} y=${low - size(value) + 4} text-anchor="end">${of(value)}</text></g>`)}
      ${bars.map((bar, index) => stack(bar, LEFT + index * step, step, low, size))}
      ${few && bars.map((bar, index) => html`<text key=${bar.key} class="tick" x=${LEFT + (index + 0.5) * step} y=${height - 4} text-anchor="middle">${bar.label.slice(0, 14)}</text>`)}
      ${!few && html`<text class="tick" x=${LEFT} y=${height - 4}>${bars[0].label}</text>`}
      ${!few && html`<text class="tick" x=${Math.min(width - 8, LEFT + step * bars.length)} y=${height - 4} text-anchor="end">${bars[bars.length - 1].label}</text>`}
    </svg>`}
  </figure>`;
}

function stack(bar, x, step, low, size) {
  let y = low;
  return html`<g key=${bar.key}><title>${bar.title}</title><rect class="reach" x=${x} y=${TOP} width=${step} height=${low - TOP} />${bar.parts.map((part) => {
    const tall = size(part.value);
    y -= tall;
    return html`<rect key=${part.name} class=${part.kind} x=${x + step * 0.1} y=${y} width=${step * 0.8} height=${tall} />`;
  })}</g>`;
}
