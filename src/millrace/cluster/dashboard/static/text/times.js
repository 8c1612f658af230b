// Moments in the user's zone, with UTC on hover.
import { html } from "../lib/html.js";
import { isEnd } from "../data/reading.js";
import { duration } from "./numbers.js";

const DAY = new Intl.DateTimeFormat(undefined, { year: "numeric", month: "short", day: "2-digit" });
const CLOCK = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23" });
const LIMIT = 8.64e15;

const within = (ms) => typeof ms === "number" && Math.abs(ms) <= LIMIT;
export const utc = (ms) => (within(ms) ? `${new Date(ms).toISOString().replace("T", " ").replace("Z", "")} UTC` : "");
export const clock = (ms) => (within(ms) ? CLOCK.format(ms) : "–");

export function local(ms) {
  if (!within(ms)) return "–";
  const day = DAY.format(ms);
  return day === DAY.format(Date.now()) ? CLOCK.format(ms) : `${day}, ${CLOCK.format(ms)}`;
}

export function Time({ ms, none = "–" }) {
  if (ms === null || ms === undefined || ms < 0 || !within(ms)) return none;
  return html`<time datetime=${new Date(ms).toISOString()} title=${utc(ms)}>${local(ms)}</time>`;
}

// Event time; behind: how far it is from now.
export function Watermark({ ms, now }) {
  if (ms === null) return html`<span class="none">none yet</span>`;
  if (isEnd(ms)) return html`<span title="Everything has been read">end of input</span>`;
  if (!within(ms)) return html`<span>${String(ms)} ms</span>`;
  const lag = now === undefined ? null : now - ms;
  return html`<time datetime=${new Date(ms).toISOString()} title=${utc(ms)}>${local(ms)}</time>${
    lag !== null && lag >= 1000 && html` <span class="muted">(${duration(lag)} behind)</span>`
  }`;
}
