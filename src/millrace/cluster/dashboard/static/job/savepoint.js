// Taking savepoints, with and without stopping: question, waiting, the path as result.
import { html, useState } from "../lib/html.js";
import { Copy, Problem } from "../parts/small.js";
import { announce } from "../parts/announce.js";
import { Dialog } from "../parts/dialog.js";
import { ended } from "../data/operations.js";
import { send } from "../data/api.js";

export function SavepointDialog({ job, close }) {
  const body = (form) => ({ "target-directory": form.directory, "cancel-job": false, formatType: form.format });
  return html`<${Asked} job=${job} close=${close} title="Take a savepoint" verb="Take savepoint" path=${`jobs/${job.id}/savepoints`} body=${body}>
    <p>A savepoint holds all state of <b>${job.name}</b>. The job goes on.</p><//>`;
}

export function StopDialog({ job, close }) {
  const body = (form) => ({ targetDirectory: form.directory, drain: form.drain, formatType: form.format });
  return html`<${Asked} job=${job} close=${close} title="Stop this job with a savepoint?" verb="Stop job" path=${`jobs/${job.id}/stop`} body=${body} drains>
    <p><b>${job.name}</b> reads no more, writes a savepoint and ends. It can go on from there later.</p><//>`;
}

const KEYS = ["execution.checkpointing.savepoint-dir", "state.savepoints.dir"];
const configured = (job) => KEYS.map((key) => job.configuration[key]).find(Boolean);

function Asked({ job, close, title, verb, path, body, drains = false, children }) {
  const [form, setForm] = useState({ directory: "", format: "CANONICAL", drain: false });
  const [state, setState] = useState({ name: "asked" });
  const begin = async (event) => {
    event.preventDefault();
    setState({ name: "waiting" });
    try {
      const answer = await send("POST", path, body({ ...form, directory: form.directory.trim() || null }));
      const { location } = await ended(`jobs/${job.id}/savepoints/${answer["request-id"]}`);
      announce(`Savepoint completed: ${location}`);
      setState({ name: "done", location });
    } catch (error) {
      setState({ name: "asked", error });
    }
  };
  if (state.name === "done") {
    return html`<${Dialog} title="Savepoint completed" close=${close}><p>It is here; <code>millrace run -s PATH</code> begins from it.</p>
      <p><${Copy} text=${state.location} label="the path" /></p>
      <div class="buttons"><button type="button" onClick=${close}>Close</button></div><//>`;
  }
  const waiting = state.name === "waiting";
  const change = (name) => (event) => setForm({ ...form, [name]: event.target.type === "checkbox" ? event.target.checked : event.target.value });
  return html`<${Dialog} title=${title} close=${close}><form onSubmit=${begin}>${children}
    <label>Directory <input value=${form.directory} onInput=${change("directory")} placeholder=${configured(job) ?? "none is configured: name one"} /></label>
    <label>Format <select value=${form.format} onChange=${change("format")}><option value="CANONICAL">Canonical</option><option value="NATIVE">Native</option></select></label>
    ${drains && html`<label class="check"><input type="checkbox" checked=${form.drain} onChange=${change("drain")} /> Drain: let all windows fire, as if the input had ended. Do not go on from such a savepoint.</label>`}
    <${Problem} error=${state.error} />
    ${waiting && html`<p role="status">Taking the savepoint …</p>`}
    <div class="buttons"><button type="button" onClick=${close}>${waiting ? "Close" : "Back"}</button><button type="submit" class="main" disabled=${waiting}>${verb}</button></div></form><//>`;
}
