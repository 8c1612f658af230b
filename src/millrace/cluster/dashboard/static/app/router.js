// The address behind the # as a list of parts: #/jobs/ID/overview/VERTEX is ["jobs", ID, "overview", VERTEX].
import { useEffect, useState } from "../lib/html.js";

const parts = () => location.hash.replace(/^#\/?/, "").split("/").filter(Boolean).map(decode);

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
