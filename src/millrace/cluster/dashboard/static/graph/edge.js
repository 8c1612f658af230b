// An edge: a curve from box to box through its bends, as wide as what flows along it.
import { html } from "../lib/html.js";
import { rate } from "../text/numbers.js";

export function Edge({ way, fitted, flow, label, ship }) {
  const points = ends(way, fitted);
  const d = curve(points, fitted.right);
  const thick = flow > 0 ? Math.min(7, 1.5 + Math.log10(1 + flow)) : 1.5;
  const middle = points[Math.floor((points.length - 1) / 2)];
  const next = points[Math.floor((points.length - 1) / 2) + 1];
  const at = { x: (middle.x + next.x) / 2, y: (middle.y + next.y) / 2 };
  return html`<g class=${`edge ${way.turned ? "back" : ""} ${flow > 0 ? "flows" : ""}`}>
    <path d=${d} stroke-width=${thick} marker-end="url(#arrow)" />
    ${label && html`<text x=${at.x} y=${at.y - 5} text-anchor="middle">${label}</text>`}
    <title>${`${ship}${flow === null ? "" : `, ${rate(flow)}`}`}</title></g>`;
}

function ends({ points, turned }, { right, box }) {
  const out = turned ? 0 : 1;
  return points.map((point, index) => {
    const first = index === 0;
    const last = index === points.length - 1;
    const size = right ? box.width : box.height;
    const shift = point.bend ? size / 2 : first ? size * out : last ? size * (1 - out) : 0;
    const along = point.along + shift + (last ? (turned ? 7 : -7) : 0);
    return right ? { x: along, y: point.across } : { x: point.across, y: along };
  });
}

function curve(points, right) {
  let d = `M${points[0].x},${points[0].y}`;
  for (let index = 1; index < points.length; index += 1) {
    const from = points[index - 1];
    const to = points[index];
    const half = right ? (to.x - from.x) / 2 : (to.y - from.y) / 2;
    d += right
      ? `C${from.x + half},${from.y} ${to.x - half},${to.y} ${to.x},${to.y}`
      : `C${from.x},${from.y + half} ${to.x},${to.y - half} ${to.x},${to.y}`;
  }
  return d;
}
