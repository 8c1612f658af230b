// Pages whose code is fetched when they are looked at for the first time.
import { html, useEffect, useState } from "../lib/html.js";

const PLACES = {
  job: () => import("../job/page.js"),
  executor: () => import("../pages/executor.js"),
  executors: () => import("../pages/executors.js"),
  manager: () => import("../pages/manager.js"),
  submit: () => import("../pages/submit.js"),
  sql: () => import("../pages/sql.js"),
};
const there = new Map();

export function Lazy({ name, ...props }) {
  const [, redraw] = useState(0);
  const [error, setError] = useState(null);
  useEffect(() => {
    if (there.has(name)) return;
    PLACES[name]().then(
      (module) => {
        there.set(name, module.default);
        redraw((count) => count + 1);
      },
      () => setError("This page could not be loaded: the server does not answer."),
    );
  }, [name]);
  const Page = there.get(name);
  if (Page) return html`<${Page} ...${props} />`;
  return error ? html`<p class="problem" role="alert">${error}</p>` : html`<p class="loading">Loading …</p>`;
}
