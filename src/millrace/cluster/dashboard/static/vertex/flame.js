// What the functions of a vertex do, by samples of their stacks.
import { html, useState } from "../lib/html.js";
import { isOver } from "../data/reading.js";
import { usePoll } from "../data/poll.js";
import { Flame } from "../parts/flame.js";
import { Waiting } from "../parts/small.js";
import { Time } from "../text/times.js";

const MODES = [["FULL", "All"], ["ON_CPU", "Working"], ["OFF_CPU", "Waiting"]];

export function FlamePage({ job, vertex }) {
  const [mode, setMode] = useState("FULL");
  const [subtask, setSubtask] = useState("");
  const [paused, setPaused] = useState(false);
  const path = `jobs/${job.id}/vertices/${vertex.id}/flamegraph?type=${mode}${subtask === "" ? "" : `&subtaskindex=${subtask}`}`;
  const over = isOver(job);
  const answer = usePoll(over ? null : path, paused ? 0 : 5000);
  if (over) return html`<p class="empty">The job has ended: there is nothing to sample.</p>`;
  return html`<div class="log-tools">
      <label>Threads <select value=${mode} onChange=${(event) => setMode(event.target.value)}>${MODES.map(([value, name]) => html`<option key=${value} value=${value}>${name}</option>`)}</select></label>
      <label>Subtask <select value=${subtask} onChange=${(event) => setSubtask(event.target.value)}><option value="">all</option>${vertex.subtasks.map((each) => html`<option key=${each.index} value=${each.index}>${each.index}</option>`)}</select></label>
      <button type="button" aria-pressed=${String(paused)} onClick=${() => setPaused(!paused)}>${paused ? "Go on" : "Hold"}</button>
      ${answer.data?.endTimestamp > 0 && html`<span class="muted">sampled <${Time} ms=${answer.data.endTimestamp} /></span>`}</div>
    <${Waiting} answer=${answer}>${({ data }) => (data ? html`<${Flame} root=${data} />` : html`<p class="empty">Sampling …</p>`)}<//>`;
}
