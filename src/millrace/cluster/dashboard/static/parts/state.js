// A state as a word with a colour and a sign of its own.
import { html } from "../lib/html.js";

const KINDS = {
  RUNNING: "good", FINISHED: "done", COMPLETED: "done", FAILED: "bad", FAILING: "bad", ERROR: "bad",
  CANCELED: "off", CANCELLING: "off", CANCELING: "off", SUSPENDED: "off", CLOSED: "off",
  RESTARTING: "warn", INITIALIZING: "wait", CREATED: "wait", SCHEDULED: "wait", DEPLOYING: "wait",
  RECONCILING: "wait", IN_PROGRESS: "wait", PENDING: "wait", INITIALIZED: "wait",
};
const SIGNS = { good: "▶", done: "✓", bad: "✕", off: "■", warn: "↻", wait: "…" };

export const words = (state) => state.charAt(0) + state.slice(1).toLowerCase().replaceAll("_", " ");
export const kind = (state) => KINDS[state] ?? "wait";

export function State({ state }) {
  return html`<span class=${`state ${kind(state)}`}><span aria-hidden="true">${SIGNS[kind(state)]}</span> ${words(state)}</span>`;
}

// How many subtasks are in which state.
export function Counts({ counts }) {
  const there = Object.entries(counts).filter(([, count]) => count > 0);
  if (!there.length) return html`<span class="none">none</span>`;
  return html`<span class="counts">${there.map(
    ([state, count]) => html`<span key=${state} class=${`count ${kind(state)}`} title=${`${count} ${words(state)}`}>
      <span aria-hidden="true">${SIGNS[kind(state)]}</span> ${count}<span class="unseen"> ${words(state)}</span></span>`,
  )}</span>`;
}
