// What the threads of a process do at this moment.
import { html, useState } from "../lib/html.js";
import { usePoll } from "../data/poll.js";
import { Section, Waiting } from "./small.js";

export function Threads({ path }) {
  const [round, setRound] = useState(0);
  const answer = usePoll(`${path}?round=${round}`, 0);
  return html`<${Section} title="Threads" actions=${html`<button type="button" onClick=${() => setRound(round + 1)}>Look again</button>`}>
    <${Waiting} answer=${answer}>${({ threadInfos }) => (threadInfos.length ? threadInfos.map((each, index) => html`<details key=${`${each.threadName} ${index}`}><summary>${each.threadName}</summary><pre class="stack" tabindex="0" role="group" aria-label=${each.threadName}>${each.stringifiedThreadInfo}</pre></details>`) : html`<p class="empty">No thread.</p>`)}<//><//>`;
}
