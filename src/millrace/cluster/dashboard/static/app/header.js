// The head of every page: name, menu, theme.
import { html, useState } from "../lib/html.js";
import { recall, remember } from "./remembered.js";
import { link } from "./router.js";

export function Header({ route, config, features }) {
  const at = route[0] ?? "";
  const item = (name, ...way) => html`<a key=${name} href=${link(...way)} aria-current=${(way[0] ?? "") === at || (at === "jobs" && !way.length) ? "page" : undefined}>${name}</a>`;
  const live = !config?.features?.["web-history"];
  const submits = config?.features?.["web-submit"] ?? false;
  return html`<header class="top">
    <a class="brand" href=${link()} aria-label="Millrace, overview"><img src="icon.svg" alt="" width="28" height="28" /><span>Millrace</span></a>
    <nav aria-label="Main">${item("Overview")}${live && item("Executors", "executors")}${live && item("Job manager", "manager")}${submits && item("Submit", "submit")}${features?.sql && item("SQL", "sql")}</nav>
    <${Theme} />
  </header>`;
}

const THEMES = [["", "System"], ["light", "Light"], ["dark", "Dark"]];

function Theme() {
  const [theme, setTheme] = useState(() => recall("theme", "") ?? "");
  const choose = (event) => {
    const chosen = event.target.value;
    setTheme(chosen);
    remember("theme", chosen || null);
    if (chosen) document.documentElement.dataset.theme = chosen;
    else delete document.documentElement.dataset.theme;
  };
  return html`<label class="theme">Theme <select value=${theme} onChange=${choose}>${THEMES.map(([value, name]) => html`<option key=${value} value=${value}>${name}</option>`)}</select></label>`;
}
