// Which way the graph runs and how much its boxes say, so that it is readable in the room that it has.
import { layout } from "./layout.js";

const FULL = { name: "full", width: 232, height: 126 };
const COMPACT = { name: "compact", width: 188, height: 62 };
const SMALLEST = 0.62;
const GOOD = 0.85;

// choice: {direction: "right" | "down" | "auto"}
export function fit(nodes, edges, room, direction) {
  const tries = [];
  for (const box of [FULL, COMPACT]) {
    for (const way of direction === "auto" ? ["right", "down"] : [direction]) {
      const right = way === "right";
      const found = layout(nodes, edges, {
        along: right ? box.width : box.height,
        across: right ? box.height : box.width,
        gapAlong: right ? 64 : 44,
        gapAcross: right ? 22 : 26,
      });
      const width = right ? found.along : found.across;
      const height = right ? found.across : found.along;
      const scale = Math.min(1, room.width / width, room.height / height);
      if (scale >= GOOD) return { ...found, box, right, width, height, scale };
      tries.push({ ...found, box, right, width, height, scale });
    }
  }
  const best = tries.reduce((a, b) => (value(b, room) > value(a, room) ? b : a));
  return { ...best, scale: Math.max(Math.min(1, SMALLEST), Math.min(1, room.width / best.width, room.height / best.height)) };
}

// Scrolling in one direction is better than in two, and down better than to the side.
const value = (each, room) => each.scale + (each.width * SMALLEST <= room.width ? 0.3 : 0) + (each.box === FULL ? 0.02 : 0);
