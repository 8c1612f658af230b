// The course of jobs while the page is open: rates from counts, and values to plot.
const SPAN = 15 * 60_000;
const WINDOW = 10_000;
const tracks = new Map();

// A track has, per vertex, points {at, in, out, bytesIn, bytesOut} and, for vertices that were opened, all their metrics.
export function track(id) {
  if (!tracks.has(id)) tracks.set(id, { at: 0, counts: new Map(), loads: new Map(), watched: new Set(), metrics: new Map() });
  return tracks.get(id);
}

export const watch = (id, vertex) => track(id).watched.add(vertex);

export function record(job) {
  const course = track(job.id);
  if (job.written <= course.at) return;
  course.at = job.written;
  for (const vertex of job.vertices) {
    const sum = (name) => vertex.subtasks.reduce((total, each) => total + each[name], 0);
    const now = {
      at: job.written,
      in: sum("records_in"),
      out: sum("records_out"),
      bytesIn: sum("bytes_in"),
      bytesOut: sum("bytes_out"),
    };
    append(course.counts, vertex.id, now);
    append(course.loads, vertex.id, { at: job.written, ...load(vertex) });
    if (course.watched.has(vertex.id)) recordMetrics(course, job.written, vertex);
  }
}

function recordMetrics(course, at, vertex) {
  for (const subtask of vertex.subtasks) {
    for (const metric of [...subtask.metrics, ...built(subtask)]) {
      if (typeof metric.value === "number") {
        append(course.metrics, `${vertex.id}\n${metric.name}\n${subtask.index}`, { at, value: metric.value });
      }
    }
  }
}

// What every subtask has, whether or not it is among its metrics.
const built = (subtask) => [
  { name: "busy share", value: subtask.busy },
  { name: "back-pressured share", value: subtask.backpressured },
  { name: "idle share", value: subtask.idle },
  { name: "records in", value: subtask.records_in },
  { name: "records out", value: subtask.records_out },
  { name: "state bytes", value: subtask.state_bytes },
];

export const metricNames = (vertex) =>
  [...new Set(vertex.subtasks.flatMap((each) => [...built(each), ...each.metrics]).filter((each) => typeof each.value === "number").map((each) => each.name))];

function append(series, key, point) {
  if (!series.has(key)) series.set(key, []);
  const points = series.get(key);
  // Counts that fall were rolled back to a checkpoint: what was before is another life.
  if (points.length && "in" in point && point.in < points[points.length - 1].in) points.length = 0;
  points.push(point);
  while (points[0].at < point.at - SPAN) points.shift();
}

// Elements per second over the last seconds; null until two moments are known.
export function rates(id, vertex) {
  const points = track(id).counts.get(vertex) ?? [];
  const now = points[points.length - 1];
  if (points.length < 2) return null;
  let first = points.length - 2;
  while (first > 0 && now.at - points[first].at < WINDOW) first -= 1;
  return between(points[first], now);
}

function between(from, to) {
  const seconds = (to.at - from.at) / 1000;
  const per = (name) => Math.max(0, (to[name] - from[name]) / seconds);
  return { in: per("in"), out: per("out"), bytesIn: per("bytesIn"), bytesOut: per("bytesOut") };
}

// Rates over time, each over a window that ends there.
export function rateSeries(id, vertex, name) {
  const points = track(id).counts.get(vertex) ?? [];
  const found = [];
  let first = 0;
  for (let index = 1; index < points.length; index += 1) {
    while (first < index - 1 && points[index].at - points[first].at > WINDOW) first += 1;
    found.push([points[index].at, between(points[first], points[index])[name]]);
  }
  return found;
}

export const metricSeries = (id, vertex, name, subtask) =>
  (track(id).metrics.get(`${vertex}\n${name}\n${subtask}`) ?? []).map((point) => [point.at, point.value]);

const most = (values) => values.reduce((top, value) => (value === null || (top !== null && top >= value) ? top : value), null);

// How a vertex is loaded: its busiest subtask counts, as in Flink.
export function load(vertex) {
  return {
    busy: most(vertex.subtasks.map((each) => each.busy)),
    backpressured: most(vertex.subtasks.map((each) => each.backpressured)),
    idle: most(vertex.subtasks.map((each) => each.idle)),
  };
}
