// Statements, and their results as they come: over the REST API of the SQL gateway.
import { html, useEffect, useRef, useState } from "../lib/html.js";
import { recall, remember } from "../app/remembered.js";
import { Problem, Section } from "../parts/small.js";
import { announce } from "../parts/announce.js";
import { Results } from "./results.js";
import { statements } from "./statements.js";
import { Session } from "../data/gateway.js";

export function Sql({ features }) {
  const [text, setText] = useState(() => recall("sql", "SHOW TABLES;"));
  const [runs, setRuns] = useState([]);
  const [error, setError] = useState(null);
  const [busy, setBusy] = useState(false);
  const session = useRef(null);
  const base = features?.sql;
  useEffect(() => () => session.current?.close(), []);
  if (!base) return html`<h1>SQL</h1><p class="empty">${features ? "No SQL gateway runs beside this server." : "Loading …"}</p>`;
  const run = async () => {
    setBusy(true);
    setError(null);
    remember("sql", text);
    try {
      session.current ??= await Session.open(base);
      for (const statement of statements(text)) {
        const one = await session.current.run(statement, (state) => setRuns((all) => [state, ...all.filter((each) => each.id !== state.id)].sort((a, b) => b.id - a.id).slice(0, 20)));
        announce(`Started: ${statement.slice(0, 60)}`);
        // The next statement may need what this one makes; a query that goes on forever is not waited for.
        if (!(await one.begun)) break;
      }
    } catch (problem) {
      if (problem.status === 404 || /session/i.test(problem.message)) session.current = null;
      setError(problem);
    }
    setBusy(false);
  };
  const key = (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
      event.preventDefault();
      run();
    }
  };
  return html`<h1>SQL</h1><${Section} title="Statements" actions=${html`<span class="muted">Ctrl+Enter runs them</span>`}>
      <label class="unseen" for="sql">SQL statements</label>
      <textarea id="sql" spellcheck="false" rows="8" value=${text} onInput=${(event) => setText(event.target.value)} onKeyDown=${key}></textarea>
      <${Problem} error=${error} />
      <div class="buttons"><button type="button" class="main" disabled=${busy || !text.trim()} onClick=${run}>Run</button></div><//>
    ${runs.map((one) => html`<${Results} key=${one.id} run=${one} />`)}`;
}
