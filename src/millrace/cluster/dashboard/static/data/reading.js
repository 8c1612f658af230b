// What the pages compute from a job's document.
export const END = 9223372036854775807;
const BEFORE = -9223372036854775808;

export const sum = (vertex, name) => vertex.subtasks.reduce((total, each) => total + each[name], 0);

// The lowest watermark of a vertex; null: one of its subtasks has none yet.
export function watermark(vertex) {
  const values = vertex.subtasks.map((each) => each.watermark ?? (vertex.inputs.length ? null : given(each)));
  return values.length && values.every((value) => value !== null && value > BEFORE) ? Math.min(...values) : null;
}

// Sources have no watermark that comes in, only one that they give.
export function given(subtask) {
  const values = subtask.metrics.filter((each) => each.name.endsWith("currentOutputWatermark") && typeof each.value === "number").map((each) => each.value);
  return values.length ? Math.min(...values) : null;
}

export const hasWatermark = (value) => value !== null && value > BEFORE;
export const isEnd = (value) => value >= END;

// Flink's measure of skew: mean deviation from the mean, as a share of it (0: even, 1: all in one).
export function skew(vertex) {
  const counts = vertex.subtasks.map((each) => each.records_in || 0);
  const total = counts.reduce((a, b) => a + b, 0);
  if (counts.length < 2 || !total) return 0;
  const mean = total / counts.length;
  return Math.min(1, counts.reduce((gap, count) => gap + Math.abs(count - mean), 0) / counts.length / mean);
}

const ORDER = ["FAILED", "CANCELED", "CANCELING", "INITIALIZING", "DEPLOYING", "SCHEDULED", "CREATED", "RUNNING", "FINISHED"];

// One state for all subtasks: the one that needs most attention.
export function stateOf(vertex) {
  const states = new Set(vertex.subtasks.map((each) => each.state));
  return ORDER.find((state) => states.has(state)) ?? "CREATED";
}

export function stateCounts(subtasks) {
  const counts = {};
  for (const each of subtasks) counts[each.state] = (counts[each.state] ?? 0) + 1;
  return counts;
}

export const isOver = (job) => ["FINISHED", "FAILED", "CANCELED"].includes(job.state);
export const endOf = (job) => (job.ended >= 0 ? job.ended : job.written);

export function span(subtasks, now) {
  const started = Math.min(...subtasks.map((each) => (each.started < 0 ? Infinity : each.started)));
  const running = subtasks.some((each) => each.ended < 0);
  const ended = running ? now : Math.max(...subtasks.map((each) => each.ended));
  return Number.isFinite(started) ? { started, ended, running } : null;
}

export function percentile(values, share) {
  const sorted = [...values].sort((a, b) => a - b);
  if (!sorted.length) return NaN;
  const place = share * (sorted.length - 1);
  const low = Math.floor(place);
  return sorted[low] + (sorted[Math.min(low + 1, sorted.length - 1)] - sorted[low]) * (place - low);
}
