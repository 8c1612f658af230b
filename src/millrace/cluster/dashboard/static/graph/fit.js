// Which way the graph runs and how much its boxes say, so that it is readable in the room that it has.
import { layout } from "./layout.js";

const FULL = { name: "full", width: 232, height: 112 };
const COMPACT = { name: "compact", width: 172, height: 64 };
const GOOD = 0.8;
const READABLE = 0.9;
const SMALLEST = 0.6;

// choice: {direction: "right" | "down" | "auto"}
export function fit(nodes, edges, room, direction) {
  const tries = [];
  for (const box of [FULL, COMPACT]) {
    for (const way of direction === "auto" ? ["right", "down"] : [direction]) {
      const right = way === "right";
      const found = layout(nodes, edges, {
        along: right ? box.width : box.height,
        across: right ? box.height : box.width,
        gapAlong: right ? 88 : 46,
        gapAcross: right ? 22 : 24,
      });
      const width = right ? found.along : found.across;
      const height = right ? found.across : found.along;
      const scale = Math.min(1, room.width / width, room.height / height);
      if (scale >= GOOD) return { ...found, box, right, width, height, scale };
      tries.push({ ...found, box, right, width, height, scale });
    }
  }
  // What cannot be seen as a whole is shown as wide as there is room for, and scrolled downwards.
  const best = tries.reduce((a, b) => (value(b, room) > value(a, room) ? b : a));
  return { ...best, scale: Math.max(SMALLEST, Math.min(READABLE, room.width / best.width)) };
}

// Scrolling down is better than scrolling to the side; then, the less of it the better.
const value = (each, room) => Math.min(READABLE, room.width / each.width) + each.scale / 10;
