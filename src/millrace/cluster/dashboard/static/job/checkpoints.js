// Checkpoints and savepoints: counts, course, history, percentiles, configuration.
import { html, useState } from "../lib/html.js";
import { send } from "../data/api.js";
import { ended } from "../data/operations.js";
import { isOver } from "../data/reading.js";
import { announce } from "../parts/announce.js";
import { Bars } from "../parts/bars.js";
import { Problem, Section, Tile, Tiles } from "../parts/small.js";
import { bytes, count, duration, plural } from "../text/numbers.js";
import { Time, clock } from "../text/times.js";
import { CheckpointConfiguration } from "./checkpoint_configuration.js";
import { History } from "./checkpoint_history.js";
import { Summary } from "./checkpoint_summary.js";

export function Checkpoints({ job }) {
  const all = job.checkpoints;
  const completed = all.history.filter((each) => each.status === "COMPLETED");
  const last = completed[0];
  const saved = completed.find((each) => each.savepoint);
  return html`<${Section} title="Overview" actions=${!isOver(job) && html`<${Trigger} job=${job} />`}>
      <${Tiles}>
        <${Tile} name="Completed">${count(all.completed)}<//>
        <${Tile} name="In progress">${count(all.in_progress)}<//>
        <${Tile} name="Failed" kind=${all.failed ? "bad" : ""}>${count(all.failed)}<//>
        <${Tile} name="Restored" note=${all.restored && html`last: ${all.restored.savepoint ? "savepoint" : "checkpoint"} ${all.restored.id}, <${Time} ms=${all.restored.at} />`}>${count(all.restored_count)}<//>
        <${Tile} name="Latest" note=${last ? html`<${Time} ms=${last.latest_ack} />, ${duration(last.duration)}, ${bytes(last.size)}` : ""}>${last ? `#${last.id}` : "none"}<//>
        <${Tile} name="Latest savepoint" note=${saved ? html`<${Time} ms=${saved.latest_ack} />` : ""}>${saved ? `#${saved.id}` : "none"}<//>
      <//>
      ${last?.path && html`<p class="muted">Latest path: <code>${last.path}</code></p>`}<//>
    ${all.history.length > 0 && html`<div class="two"><${Section} title="Durations"><${Bars} title="End to end" of=${duration} bars=${bars(all.history, (each) => [{ name: "duration", value: each.duration, kind: each.status === "FAILED" ? "part-bad" : "part-0" }], duration)} legend=${[["completed", "part-0"], ["failed", "part-bad"]]} /><//>
      <${Section} title="Sizes"><${Bars} title="Bytes" of=${bytes} bars=${bars(completed, (each) => [{ name: "new", value: each.size, kind: "part-0" }, { name: "referred to", value: Math.max(0, each.full_size - each.size), kind: "part-2" }], bytes)} legend=${[["new", "part-0"], ["from earlier ones", "part-2"]]} /><//></div>`}
    <${Section} title="History" actions=${html`<span class="muted">${plural(all.history.length, "entry").replace("entrys", "entries")}</span>`}><${History} job=${job} /><//>
    <${Section} title="Summary"><${Summary} completed=${completed.filter((each) => !each.savepoint)} /><//>
    <${Section} title="Configuration"><${CheckpointConfiguration} config=${all.config} /><//>`;
}

const bars = (history, parts, of) =>
  [...history].reverse().map((each) => ({ key: each.id, label: clock(each.triggered), parts: parts(each), title: `${each.savepoint ? "Savepoint" : "Checkpoint"} ${each.id}, ${clock(each.triggered)}: ${parts(each).map((part) => `${part.name} ${of(part.value)}`).join(", ")}${each.failure ? `\n${each.failure.split("\n")[0]}` : ""}` }));

function Trigger({ job }) {
  const [state, setState] = useState({});
  const begin = async () => {
    setState({ busy: true });
    try {
      const answer = await send("POST", `jobs/${job.id}/checkpoints`, { checkpointType: "CONFIGURED" });
      const { checkpointId } = await ended(`jobs/${job.id}/checkpoints/${answer["request-id"]}`);
      announce(`Checkpoint ${checkpointId} completed`);
      setState({ done: checkpointId });
    } catch (error) {
      setState({ error });
    }
  };
  return html`${state.done !== undefined && html`<span class="muted">Checkpoint ${state.done} completed</span>`}<${Problem} error=${state.error} />
    <button type="button" disabled=${state.busy} onClick=${begin}>${state.busy ? "Taking a checkpoint …" : "Take a checkpoint now"}</button>`;
}
