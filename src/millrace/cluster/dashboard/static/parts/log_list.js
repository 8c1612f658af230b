// The log files of a process, and the one that is read.
import { html } from "../lib/html.js";
import { usePoll } from "../data/poll.js";
import { bytes } from "../text/numbers.js";
import { Time } from "../text/times.js";
import { LogText } from "./log.js";
import { Section, Waiting } from "./small.js";
import { Table } from "./table.js";

export function LogList({ base, chosen, href }) {
  const answer = usePoll(`${base}/logs`, 10_000);
  return html`<${Section} title="Log files"><${Waiting} answer=${answer}>${({ logs }) => html`<${Table} caption="Log files" rows=${logs} keyOf=${(each) => each.name} empty="There are no log files." columns=${[
      { name: "Name", of: (each) => html`<a href=${href(each.name)} aria-current=${each.name === chosen ? "true" : undefined}>${each.name}</a>`, by: (each) => each.name },
      { name: "Size", number: true, of: (each) => bytes(each.size), by: (each) => each.size },
      { name: "Changed", of: (each) => html`<${Time} ms=${each.mtime} />`, by: (each) => each.mtime },
    ]} />`}<//><//>
    ${chosen && html`<${Section} title=${chosen}><${LogText} path=${`${base}/logs/${encodeURIComponent(chosen)}`} name=${chosen} every=${5000} /><//>`}`;
}
