// The frame of all pages: head with menu, the page that the address names, what screen readers are told.
import { html, render, useEffect, useRef } from "../lib/html.js";
import { usePoll } from "../data/poll.js";
import { Overview } from "../pages/overview.js";
import { Header } from "./header.js";
import { Lazy } from "./lazy.js";
import { link, useRoute } from "./router.js";

const NAMES = { "": "Overview", jobs: "Job", executors: "Executors", manager: "Job manager", submit: "Submit a program", sql: "SQL" };

function App() {
  const route = useRoute();
  const { data: config } = usePoll("config", 0);
  const { data: features } = usePoll("millrace/features", 0);
  const main = useRef(null);
  const place = route[0] === "jobs" ? route.slice(0, 3).join("/") : route.slice(0, 2).join("/");
  const before = useRef(place);
  useEffect(() => {
    document.title = `${NAMES[route[0] ?? ""] ?? "Not found"} · Millrace`;
    // After a change of page the focus would stay on what is gone.
    if (before.current !== place && route[0] !== "jobs") main.current?.focus({ preventScroll: true });
    before.current = place;
  }, [place]);
  const skip = (event) => {
    event.preventDefault();
    main.current?.focus();
  };
  return html`<a class="skip" href="#main" onClick=${skip}>Skip to the content</a>
    <${Header} route=${route} config=${config} features=${features} />
    <main ref=${main} id="main" tabindex="-1"><${Page} route=${route} config=${config} features=${features} /></main>
    <div id="announcements" class="unseen" role="status" aria-live="polite"></div>`;
}

function Page({ route, config, features }) {
  const [page, id, ...rest] = route;
  if (!page) return html`<${Overview} config=${config} />`;
  const lazy = (name, props = {}) => html`<${Lazy} key=${`${name} ${id}`} name=${name} ...${props} />`;
  if (page === "jobs" && id) return lazy("job", { id, way: rest, config });
  if (page === "executors") return id ? lazy("executor", { id, way: rest }) : lazy("executors");
  if (page === "manager") return html`<${Lazy} key=${page} name=${page} way=${route.slice(1)} />`;
  if (page === "submit") return lazy(page, { config });
  if (page === "sql") return lazy(page, { features });
  return html`<h1>Nothing here</h1><p>There is no such page. <a href=${link()}>Back to the overview</a></p>`;
}

const place = document.getElementById("app");
place.replaceChildren();
render(html`<${App} />`, place);
