// All metrics at a path of the REST API, with their values.
import { html } from "../lib/html.js";
import { usePoll } from "../data/poll.js";
import { KeyValues, Waiting } from "./small.js";

export function MetricList({ path }) {
  const names = usePoll(path, 0);
  return html`<${Waiting} answer=${names}>${(ids) => (ids.length ? html`<${Values} path=${path} ids=${ids.map((each) => each.id)} />` : html`<p class="empty">No metrics.</p>`)}<//>`;
}

function Values({ path, ids }) {
  const answer = usePoll(`${path}?get=${ids.map(encodeURIComponent).join(",")}`, 5000);
  return html`<${Waiting} answer=${answer}>${(values) => html`<${KeyValues} caption="Metrics" entries=${values.map((each) => [each.id, each.value])} />`}<//>`;
}
