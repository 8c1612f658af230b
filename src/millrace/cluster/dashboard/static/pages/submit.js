// Uploading programs and starting them.
import { html, useRef, useState } from "../lib/html.js";
import { send } from "../data/api.js";
import { usePoll } from "../data/poll.js";
import { announce } from "../parts/announce.js";
import { Problem, Section, Waiting } from "../parts/small.js";
import { Table } from "../parts/table.js";
import { Time } from "../text/times.js";
import { Launch } from "./launch.js";

export default function Submit({ config }) {
  const [round, setRound] = useState(0);
  const [chosen, setChosen] = useState(null);
  const [error, setError] = useState(null);
  const answer = usePoll(`jars?round=${round}`, 10_000);
  if (config && !config.features?.["web-submit"]) return html`<h1>Submit a program</h1><p class="empty">This server takes no programs.</p>`;
  const act = async (work) => {
    setError(null);
    try {
      await work();
    } catch (problem) {
      setError(problem);
    }
    setRound(round + 1);
  };
  const remove = (id) => act(async () => {
    await send("DELETE", `jars/${encodeURIComponent(id)}`);
    if (chosen === id) setChosen(null);
  });
  const uploaded = (file) => act(async () => {
    const form = new FormData();
    form.append("jarfile", file);
    const { filename } = await send("POST", "jars/upload", form);
    announce(`${file.name} was uploaded`);
    setChosen(filename.split("/").pop());
  });
  return html`<h1>Submit a program</h1>
    <${Section} title="Programs"><${Upload} uploaded=${uploaded} /><${Problem} error=${error} />
      <${Waiting} answer=${answer}>${({ files }) => html`<${Table} caption="Programs" rows=${files} keyOf=${(each) => each.id} opened=${chosen} open=${setChosen} empty="No program has been uploaded yet." columns=${[
        { name: "Name", of: (each) => each.name, by: (each) => each.name },
        { name: "Uploaded", of: (each) => html`<${Time} ms=${each.uploaded} />`, by: (each) => each.uploaded },
        { name: "Entry", of: (each) => each.entry.map((one) => one.name).join(", ") || "–" },
        { name: "", of: (each) => html`<button type="button" class="link" aria-label=${`Delete ${each.name}`} onClick=${() => remove(each.id)}>Delete</button>` },
      ]} />
      ${files.filter((each) => each.id === chosen).map((program) => html`<${Launch} key=${program.id} program=${program} />`)}`}<//><//>`;
}

function Upload({ uploaded }) {
  const input = useRef(null);
  const [over, setOver] = useState(false);
  const take = (files) => files[0] && uploaded(files[0]);
  const drop = (event) => {
    event.preventDefault();
    setOver(false);
    take(event.dataTransfer.files);
  };
  const drag = (event) => {
    event.preventDefault();
    setOver(true);
  };
  return html`<div class=${`upload ${over ? "over" : ""}`} onDragOver=${drag} onDragLeave=${() => setOver(false)} onDrop=${drop}>
    <label>Upload a Python file or an archive (.py, .zip) <input ref=${input} type="file" accept=".py,.zip,.pyz,.egg,.whl" onChange=${(event) => {
      take(event.target.files);
      event.target.value = "";
    }} /></label> <span class="muted">or drop it here</span></div>`;
}
