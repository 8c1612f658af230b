// A stack trace in which the user's own lines stand out.
import { html } from "../lib/html.js";
import { isLibrary } from "../parts/flame.js";

const FRAME = /^\s*File "([^"]+)", line \d+/;

export function Stack({ text }) {
  let own = false;
  const lines = text.split("\n").map((line) => {
    const frame = FRAME.exec(line);
    // The line of code below belongs to its frame.
    if (frame) own = !isLibrary(frame[1]);
    else if (!/^\s{4,}/.test(line)) own = false;
    return { line, own };
  });
  return html`<pre class="stack" tabindex="0" role="group" aria-label="Stack trace">${lines.map((each, index) => html`<span key=${index} class=${each.own ? "own" : ""}>${each.line}${"\n"}</span>`)}</pre>`;
}
