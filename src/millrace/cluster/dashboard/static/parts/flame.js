// A flame graph from the top down: a frame is as wide as the time in it. The user's own code stands out.
import { html, useState } from "../lib/html.js";
import { percent } from "../text/numbers.js";

const LIBRARY = /^root$|^all$|site-packages|dist-packages|\/lib\/python|<frozen|importlib|millrace[./]|pyspark|py4j|threading\.py|socket\.py/;

export const isLibrary = (name) => LIBRARY.test(name);

export function Flame({ root }) {
  const [way, setWay] = useState([]);
  const focus = follow(root, way);
  if (!root.value) return html`<p class="empty">No samples: the functions of this vertex did nothing in the last seconds.</p>`;
  const rows = [];
  way.forEach((_, index) => rows.push([{ frame: follow(root, way.slice(0, index)), from: 0, share: 1, way: way.slice(0, index), above: true }]));
  let level = [{ frame: focus, from: 0, share: 1, way }];
  while (level.length) {
    rows.push(level);
    level = level.flatMap((each) => children(each));
  }
  return html`<p class="muted">${root.value} samples. Choose a frame to look into it.
      <span class="legend"><i class="flame own" aria-hidden="true"></i>your code</span> <span class="legend"><i class="flame library" aria-hidden="true"></i>libraries</span></p>
    <div class="flames" role="group" aria-label="Flame graph">${rows.map(
      (row, depth) => html`<div key=${depth} class="flame-row">${row.map((each) => {
        const share = percent(each.frame.value / root.value);
        return html`<button key=${each.way.join(".")} type="button" class=${`flame ${isLibrary(each.frame.name) ? "library" : "own"} ${each.above ? "above" : ""}`}
          style=${{ left: `${each.from * 100}%`, width: `${each.share * 100}%` }} title=${`${each.frame.name}: ${share}`}
          onClick=${() => setWay(each.way)}>${each.share > 0.03 ? `${each.frame.name} · ${share}` : html`<span class="unseen">${each.frame.name} ${share}</span>`}</button>`;
      })}</div>`,
    )}</div>`;
}

function children({ frame, from, share, way }) {
  let left = from;
  return frame.children
    .map((child, index) => {
      const width = frame.value ? (child.value / frame.value) * share : 0;
      const found = { frame: child, from: left, share: width, way: [...way, index] };
      left += width;
      return found;
    })
    .filter((each) => each.share > 0.002);
}

// The frame at the end of a way; the last one that is still there if the graph has changed.
function follow(root, way) {
  let frame = root;
  for (const index of way) frame = frame.children[index] ?? frame;
  return frame;
}
