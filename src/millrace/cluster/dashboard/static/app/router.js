// The address behind the # as a list of parts: #/jobs/ID/overview/VERTEX is ["jobs", ID, "overview", VERTEX].
import { useEffect, useState } from "../lib/html.js";

const parts = () => known(location.hash.replace(/^#\/?/, "").split("/").filter(Boolean).map(decode));

// The addresses of Flink's own pages lead to the same things here.
function known(route) {
  const [page, ...rest] = route;
  if (page === "overview") return [];
  if (page === "job-manager") return ["manager", ...(rest[0] === "config" ? ["configuration"] : rest)];
  if (page === "task-manager") return ["executors", ...rest];
  if (page === "job") return rest.length > 1 ? ["jobs", ...rest.slice(1)] : [];
  return route;
}

function decode(part) {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

export const link = (...way) => "#/" + way.filter((part) => part !== undefined && part !== null).map(encodeURIComponent).join("/");

export function go(...way) {
  location.hash = link(...way);
}

export function useRoute() {
  const [route, setRoute] = useState(parts);
  useEffect(() => {
    const changed = () => setRoute(parts());
    addEventListener("hashchange", changed);
    return () => removeEventListener("hashchange", changed);
  }, []);
  return route;
}
