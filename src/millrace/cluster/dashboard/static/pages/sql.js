// Statements, and their results as they come: over the REST API of the SQL gateway.
import { html, useEffect, useState } from "../lib/html.js";
import { recall, remember } from "../app/remembered.js";
import { onChange, run, runs } from "../data/desk.js";
import { announce } from "../parts/announce.js";
import { Problem, Section } from "../parts/small.js";
import { Results } from "./results.js";
import { statements } from "./statements.js";

export default function Sql({ features }) {
  const [text, setText] = useState(() => recall("sql", "SHOW TABLES;"));
  const [, redraw] = useState(0);
  const [error, setError] = useState(null);
  const [busy, setBusy] = useState(false);
  const base = features?.sql;
  useEffect(() => {
    onChange(() => redraw((count) => count + 1));
    return () => onChange(() => {});
  }, []);
  if (!base) return html`<h1>SQL</h1><p class="empty">${features ? "No SQL gateway runs beside this server." : "Loading …"}</p>`;
  const runAll = async () => {
    setBusy(true);
    setError(null);
    remember("sql", text);
    try {
      for (const statement of statements(text)) {
        announce(`Started: ${statement.slice(0, 60)}`);
        // The next statement may need what this one makes.
        if (!(await run(base, statement))) break;
      }
    } catch (problem) {
      setError(problem);
    }
    setBusy(false);
  };
  const key = (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
      event.preventDefault();
      runAll();
    }
  };
  return html`<h1>SQL</h1><${Section} title="Statements" actions=${html`<span class="muted">Ctrl+Enter runs them</span>`}>
      <label class="unseen" for="sql">SQL statements</label>
      <textarea id="sql" spellcheck="false" rows="8" value=${text} onInput=${(event) => setText(event.target.value)} onKeyDown=${key}></textarea>
      <${Problem} error=${error} />
      <div class="buttons"><button type="button" class="main" disabled=${busy || !text.trim()} onClick=${runAll}>Run</button></div><//>
    ${runs().map((one) => html`<${Results} key=${one.id} run=${one} />`)}`;
}
