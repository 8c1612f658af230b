// How each subtask spends its time.
import { html } from "../lib/html.js";
import { condition, Load } from "../graph/load.js";
import { load } from "../data/track.js";
import { Table } from "../parts/table.js";
import { duration, percent } from "../text/numbers.js";

export function Pressure({ vertex }) {
  const all = load(vertex);
  const level = all.backpressured === null ? "not known" : all.backpressured > 0.5 ? "high" : all.backpressured > 0.1 ? "low" : "none";
  return html`<p>Back pressure: <b>${level}</b>. ${explain(all)}</p>
    <${Table} caption="Load of the subtasks" rows=${vertex.subtasks} keyOf=${(each) => each.index} empty="No subtask has been started yet." columns=${[
      { name: "Nr", of: (each) => each.index, by: (each) => each.index },
      { name: "Load", of: (each) => html`<${Load} load=${each} />`, by: (each) => each.busy },
      { name: "Busy", number: true, of: (each) => percent(each.busy), by: (each) => each.busy },
      { name: "Back-pressured", number: true, of: (each) => percent(each.backpressured), by: (each) => each.backpressured },
      { name: "Idle", number: true, of: (each) => percent(each.idle), by: (each) => each.idle },
      { name: "Busy in all", number: true, of: (each) => duration(each.busy_ms), by: (each) => each.busy_ms },
      { name: "Back-pressured in all", number: true, of: (each) => duration(each.backpressured_ms), by: (each) => each.backpressured_ms },
      { name: "Idle in all", number: true, of: (each) => duration(each.idle_ms), by: (each) => each.idle_ms },
    ]} />`;
}

const MEANINGS = {
  pressed: "It could give more, but what comes after it does not keep up: look there.",
  hot: "It works at its limit: what comes before it may have to wait for it.",
  warm: "It has a lot to do, and keeps up.",
  calm: "It has time left.",
};

const explain = (all) => MEANINGS[condition(all).kind] ?? "";
