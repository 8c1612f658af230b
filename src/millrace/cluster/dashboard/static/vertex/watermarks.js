// How far event time is in each subtask, and who holds it back.
import { html } from "../lib/html.js";
import { hasWatermark, isEnd, watermark } from "../data/reading.js";
import { Table } from "../parts/table.js";
import { duration } from "../text/numbers.js";
import { Watermark } from "../text/times.js";

export function Watermarks({ job, vertex }) {
  const known = vertex.subtasks.map((each) => each.watermark).filter((value) => hasWatermark(value) && !isEnd(value));
  const ahead = Math.max(...known);
  const low = watermark(vertex);
  return html`<p>Windows and timers of this vertex wait for the lowest of its watermarks: <b><${Watermark} ms=${low} now=${job.written} /></b>.</p>
    <${Table} caption="Watermarks of the subtasks" rows=${vertex.subtasks} keyOf=${(each) => each.index} empty="No subtask has been started yet." columns=${[
      { name: "Nr", of: (each) => each.index, by: (each) => each.index },
      { name: "Watermark", of: (each) => html`<${Watermark} ms=${each.watermark} />`, by: (each) => each.watermark },
      { name: "Behind the first", number: true, of: (each) => (hasWatermark(each.watermark) && !isEnd(each.watermark) ? duration(ahead - each.watermark) : "–"), by: (each) => -(each.watermark ?? 0) },
      { name: "Behind now", number: true, of: (each) => (hasWatermark(each.watermark) && !isEnd(each.watermark) ? duration(Math.max(0, job.written - each.watermark)) : "–"), by: (each) => -(each.watermark ?? 0) },
    ]} />`;
}
