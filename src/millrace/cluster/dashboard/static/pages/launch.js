// How a program is to be started, its plan, its start.
import { html, useState } from "../lib/html.js";
import { go } from "../app/router.js";
import { send } from "../data/api.js";
import { Graph } from "../graph/view.js";
import { Problem } from "../parts/small.js";
import { planned } from "./planned.js";

export function Launch({ program }) {
  const [form, setForm] = useState({ entry: program.entry[0]?.name ?? "", arguments: "", parallelism: "", savepoint: "", allow: false });
  const [state, setState] = useState({});
  const base = `jars/${encodeURIComponent(program.id)}`;
  const change = (name) => (event) => setForm({ ...form, [name]: event.target.type === "checkbox" ? event.target.checked : event.target.value });
  const work = async (name, act) => {
    setState({ ...state, busy: name, error: null });
    try {
      await act();
    } catch (error) {
      setState({ error });
    }
  };
  const plan = () => work("plan", async () => setState({ plan: (await send("POST", `${base}/plan`, request(form, false))).plan }));
  const run = (event) => {
    event.preventDefault();
    work("run", async () => go("jobs", (await send("POST", `${base}/run`, request(form, true))).jobid));
  };
  return html`<form class="launch" aria-label=${`Start ${program.name}`} onSubmit=${run}><h3>Start ${program.name}</h3>
    <label>Entry (file or module) <input value=${form.entry} onInput=${change("entry")} placeholder="as the program says" /></label>
    <label>Arguments <input value=${form.arguments} onInput=${change("arguments")} placeholder='--input "my file.txt"' /></label>
    <label>Parallelism <input type="number" min="1" value=${form.parallelism} onInput=${change("parallelism")} placeholder="as configured" /></label>
    <label>Start from savepoint <input value=${form.savepoint} onInput=${change("savepoint")} placeholder="none" /></label>
    <label class="check"><input type="checkbox" checked=${form.allow} onChange=${change("allow")} /> State that fits no operator may be left out</label>
    <${Problem} error=${state.error} />
    <div class="buttons"><button type="button" disabled=${Boolean(state.busy)} onClick=${plan}>${state.busy === "plan" ? "Planning …" : "Show plan"}</button>
      <button type="submit" class="main" disabled=${Boolean(state.busy)}>${state.busy === "run" ? "Starting …" : "Start"}</button></div>
    ${state.plan && html`<h3>Plan of ${state.plan.name}</h3><${Graph} job=${planned(state.plan)} />`}</form>`;
}

function request(form, run) {
  return {
    entryClass: form.entry.trim() || null,
    programArgsList: words(form.arguments),
    parallelism: form.parallelism ? Number(form.parallelism) : null,
    ...(run ? { savepointPath: form.savepoint.trim() || null, allowNonRestoredState: form.allow } : {}),
  };
}

// As a shell would: quotes hold together, a backslash protects.
export function words(text) {
  const found = [];
  let word = null;
  let quote = null;
  for (let index = 0; index < text.length; index += 1) {
    const sign = text[index];
    if (quote) {
      if (sign === quote) quote = null;
      else word += sign === "\\" && quote === '"' && index + 1 < text.length ? text[(index += 1)] : sign;
    } else if (sign === '"' || sign === "'") {
      quote = sign;
      word ??= "";
    } else if (sign === "\\" && index + 1 < text.length) word = (word ?? "") + text[(index += 1)];
    else if (/\s/.test(sign)) {
      if (word !== null) found.push(word);
      word = null;
    } else word = (word ?? "") + sign;
  }
  return word === null ? found : [...found, word];
}
