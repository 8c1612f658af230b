// Where the time goes: epochs with their phases, and when each vertex did what.
import { html } from "../lib/html.js";
import { endOf } from "../data/reading.js";
import { Bars } from "../parts/bars.js";
import { Section } from "../parts/small.js";
import { Table } from "../parts/table.js";
import { brief, duration, percent, rate } from "../text/numbers.js";
import { Time, Watermark, local } from "../text/times.js";
import { Spans } from "./spans.js";

const PHASES = ["plan", "start", "read", "process", "exchange", "record", "commit"];
const SHOWN = 60;

export function Timeline({ job }) {
  const epochs = job.epochs.slice(-SHOWN);
  const parts = (epoch) => {
    const known = PHASES.filter((name) => epoch.phases[name] > 0).map((name) => ({ name, kind: `phase-${name}`, value: epoch.phases[name] }));
    const rest = epoch.duration - known.reduce((sum, part) => sum + part.value, 0);
    return rest > 0 ? [...known, { name: "other", kind: "phase-other", value: rest }] : known;
  };
  const bars = epochs.map((epoch) => ({
    key: epoch.number,
    label: local(epoch.began),
    parts: parts(epoch),
    title: `Epoch ${epoch.number}${epoch.checkpoint ? " with a checkpoint" : ""}: ${duration(epoch.duration)}, ${brief(epoch.records)} records\n${parts(epoch).map((part) => `${part.name} ${duration(part.value)}`).join(", ")}`,
  }));
  return html`<${Section} title="Epochs">${epochs.length ? html`
      <${Bars} title="Duration of the last ${epochs.length} epochs" bars=${bars} of=${duration} height=${200} legend=${[...PHASES, "other"].map((name) => [name, `phase-${name}`])} />
      <${Means} epochs=${epochs} parts=${parts} />
      <details><summary>The same as a table</summary><${Table} caption="Epochs" rows=${[...epochs].reverse()} keyOf=${(epoch) => epoch.number} columns=${columns(job)} /></details>`
    : html`<p class="empty">No epoch has been completed yet.</p>`}<//>
    <${Section} title="Vertices"><${Spans} job=${job} until=${endOf(job)} /><//>`;
}

// In words: which phases the time went into.
function Means({ epochs, parts }) {
  const whole = epochs.reduce((sum, epoch) => sum + epoch.duration, 0);
  if (!whole) return null;
  const totals = new Map();
  for (const epoch of epochs) for (const part of parts(epoch)) totals.set(part.name, (totals.get(part.name) ?? 0) + part.value);
  const most = [...totals].sort((a, b) => b[1] - a[1]).slice(0, 3).map(([name, value]) => `${name} ${percent(value / whole)}`);
  const records = epochs.reduce((sum, epoch) => sum + epoch.records, 0);
  return html`<p class="muted">On average ${duration(whole / epochs.length)} and ${brief(records / epochs.length)} records an epoch; ${rate((records / whole) * 1000)} while they ran. Most of the time: ${most.join(", ")}.</p>`;
}

const columns = (job) => [
  { name: "Epoch", of: (epoch) => epoch.number, by: (epoch) => epoch.number },
  { name: "Began", of: (epoch) => html`<${Time} ms=${epoch.began} />`, by: (epoch) => epoch.began },
  { name: "Duration", number: true, of: (epoch) => duration(epoch.duration), by: (epoch) => epoch.duration },
  { name: "Records", number: true, of: (epoch) => brief(epoch.records), by: (epoch) => epoch.records },
  ...PHASES.map((name) => ({ name, number: true, of: (epoch) => (name in epoch.phases ? duration(epoch.phases[name]) : "–"), by: (epoch) => epoch.phases[name] ?? -1 })),
  { name: "Watermark", of: (epoch) => html`<${Watermark} ms=${epoch.watermark} now=${job.batch ? undefined : epoch.began} />`, by: (epoch) => epoch.watermark },
  { name: "Checkpoint", of: (epoch) => (epoch.checkpoint ? "yes" : "") },
];
