// The end of a text that grows: searched, followed, or saved as a whole.
import { html, useEffect, useRef, useState } from "../lib/html.js";
import { text } from "../data/api.js";
import { plural } from "../text/numbers.js";
import { Problem } from "./small.js";

const LINES = 2000;
// Texts come as a whole: those with more characters are asked for less often.
const SMALL = 500_000;

export function LogText({ path, name, every = 0 }) {
  const [state, setState] = useState({ lines: null });
  const [wanted, setWanted] = useState("");
  const [follow, setFollow] = useState(true);
  const area = useRef(null);
  useEffect(() => {
    const stop = new AbortController();
    let timer = 0;
    let size = 0;
    const ask = async () => {
      if (!document.hidden) {
        try {
          const content = await text(path, stop.signal);
          setState({ lines: content.replace(/\n$/, "").split("\n") });
          size = content.length;
        } catch (error) {
          if (stop.signal.aborted) return;
          setState((before) => ({ ...before, error }));
        }
      }
      if (every && !stop.signal.aborted) timer = setTimeout(ask, every * (1 + size / SMALL));
    };
    ask();
    return () => {
      stop.abort();
      clearTimeout(timer);
    };
  }, [path, every]);
  useEffect(() => {
    if (follow && area.current) area.current.scrollTop = area.current.scrollHeight;
  });
  const needle = wanted.toLowerCase();
  const found = (state.lines ?? []).filter((line) => line.toLowerCase().includes(needle));
  const shown = found.slice(-LINES);
  return html`<${Problem} error=${state.error} />
    ${state.lines !== null && html`<div class="log-tools"><label class="search">Search <input type="search" value=${wanted} onInput=${(event) => setWanted(event.target.value)} /></label>
      <label class="check"><input type="checkbox" checked=${follow} onChange=${(event) => setFollow(event.target.checked)} /> Stay at the end</label>
      <span class="muted">${found.length > shown.length ? `last ${LINES} of ` : ""}${plural(found.length, "line")}</span><a href=${path} download=${name}>Save</a></div>
    <pre class="log" ref=${area} tabindex="0" role="group" aria-label=${name}>${shown.join("\n") || "Nothing has been written yet."}</pre>`}`;
}
