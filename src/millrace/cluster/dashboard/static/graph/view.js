// The graph of a job: boxes over curves, in a window that scrolls. Laid out anew only when its shape or room changes.
import { html, useEffect, useMemo, useRef, useState } from "../lib/html.js";
import { rates } from "../data/track.js";
import { useWidth } from "../parts/small.js";
import { recall, remember } from "../app/remembered.js";
import { Edge } from "./edge.js";
import { fit } from "./fit.js";
import { Node } from "./node.js";

const MARGIN = 16;
const STEP = 1.2;

export function Graph({ job, selected = null, open = () => {}, findings = [] }) {
  const [ref, width] = useWidth();
  const [direction, setDirection] = useState(() => recall("direction", "auto"));
  const [zoom, setZoom] = useState(1);
  const window_ = useRef(null);
  const edges = job.vertices.flatMap((vertex) => vertex.inputs.map((input) => ({ from: input.vertex, to: vertex.id, ship: input.ship_strategy, number: input.number })));
  const shape = JSON.stringify([job.vertices.map((vertex) => vertex.id), edges]);
  const room = { width: Math.max(200, width - 2 * MARGIN), height: Math.max(320, Math.min(620, innerHeight * 0.62)) };
  const fitted = useMemo(
    () => (width && job.vertices.length ? fit(job.vertices.map((vertex) => vertex.id), edges, room, direction) : null),
    [shape, width, direction],
  );
  const scale = fitted ? fitted.scale * zoom : 1;
  usePanning(window_);
  useEffect(() => {
    document.getElementById(`vertex-${selected}`)?.scrollIntoView({ block: "nearest", inline: "nearest" });
  }, [selected, width]);
  const turn = () => {
    const next = fitted?.right ? "down" : "right";
    remember("direction", next);
    setDirection(next);
    setZoom(1);
  };
  const whole = () => {
    remember("direction", null);
    setDirection("auto");
    setZoom(fitted ? Math.min(1, room.width / fitted.width, room.height / fitted.height) / fitted.scale : 1);
  };
  if (!job.vertices.length) return html`<div ref=${ref} class="graph"><p class="empty">The job has no vertices yet.</p></div>`;
  const worst = new Map([...findings].reverse().map((finding) => [finding.vertex, finding]));
  return html`<div ref=${ref} class="graph">
    <div class="tools" role="group" aria-label="View of the graph">
      <button type="button" onClick=${() => setZoom(zoom * STEP)} aria-label="Larger" title="Larger">+</button>
      <button type="button" onClick=${() => setZoom(zoom / STEP)} aria-label="Smaller" title="Smaller">−</button>
      <button type="button" onClick=${whole} title="The whole graph">Fit</button>
      <button type="button" onClick=${turn} title="Let it run the other way">${fitted?.right ? "Top to bottom" : "Left to right"}</button>
    </div>
    ${fitted && html`<div class="window" ref=${window_} tabindex="0" role="group" aria-label=${`Graph of ${job.vertices.length} vertices`} style=${{ maxHeight: `${room.height + 2 * MARGIN + 18}px` }}>
      <div class="paper" style=${{ width: `${fitted.width * scale + 2 * MARGIN}px`, height: `${fitted.height * scale + 2 * MARGIN}px` }}>
        <div class="scaled" style=${{ transform: `translate(${MARGIN}px, ${MARGIN}px) scale(${scale})`, width: `${fitted.width}px`, height: `${fitted.height}px` }}>
          <svg width=${fitted.width} height=${fitted.height} aria-hidden="true" focusable="false">
            <defs><marker id="arrow" viewBox="0 0 8 8" refX="1" refY="4" markerWidth="8" markerHeight="8" markerUnits="userSpaceOnUse" orient="auto"><path d="M0,0L8,4L0,8z" /></marker></defs>
            ${fitted.ways.map((way) => html`<${Edge} key=${`${way.edge.from} ${way.edge.to} ${way.edge.number}`} way=${way} fitted=${fitted} label=${fitted.box.name === "full" ? shown(way.edge.ship) : ""} ship=${way.edge.ship} flow=${flow(job, way.edge)} />`)}
          </svg>
          ${job.vertices.map((vertex) => html`<${Node} key=${vertex.id} job=${job} vertex=${vertex} box=${fitted.box} selected=${vertex.id === selected} finding=${worst.get(vertex.id)} open=${open} style=${spot(fitted, vertex.id)} />`)}
        </div>
      </div></div>`}
  </div>`;
}

const shown = (ship) => (ship === "FORWARD" ? "" : ship);

function spot({ at, right, box }, id) {
  const { along, across } = at.get(id);
  return { left: `${right ? along : across}px`, top: `${right ? across : along}px`, width: `${box.width}px`, height: `${box.height}px` };
}

// What flows along an edge is not counted: what its beginning gives, shared among nothing, is the most that it can be.
const flow = (job, edge) => (job.state === "RUNNING" ? rates(job.id, edge.from)?.out ?? null : null);

// Dragging the paper scrolls the window.
function usePanning(ref) {
  useEffect(() => {
    const area = ref.current;
    if (!area) return undefined;
    let from = null;
    const down = (event) => {
      if (event.button === 0 && event.pointerType === "mouse" && !event.target.closest("button")) from = { x: event.clientX + area.scrollLeft, y: event.clientY + area.scrollTop };
    };
    const move = (event) => {
      if (from) area.scrollTo(from.x - event.clientX, from.y - event.clientY);
    };
    const up = () => {
      from = null;
    };
    area.addEventListener("pointerdown", down);
    addEventListener("pointermove", move);
    addEventListener("pointerup", up);
    return () => {
      area.removeEventListener("pointerdown", down);
      removeEventListener("pointermove", move);
      removeEventListener("pointerup", up);
    };
  });
}
