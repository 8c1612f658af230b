// What is at a path, asked again and again while someone looks at it.
import { useEffect, useState } from "../lib/html.js";
import { get } from "./api.js";

const last = new Map();
const KEPT = 60;

export function usePoll(path, every = 2000, seen = undefined) {
  const [, redraw] = useState(0);
  useEffect(() => {
    if (!path) return undefined;
    const stop = new AbortController();
    let timer = 0;
    const ask = async () => {
      if (!document.hidden) {
        try {
          const data = await get(path, stop.signal);
          keep(path, { data, error: null });
          seen?.(data);
        } catch (error) {
          if (stop.signal.aborted) return;
          keep(path, { data: last.get(path)?.data, error });
        }
        if (stop.signal.aborted) return;
        redraw((count) => count + 1);
      }
      if (every) timer = setTimeout(ask, every);
    };
    const awake = () => {
      if (document.hidden) return;
      clearTimeout(timer);
      ask();
    };
    ask();
    document.addEventListener("visibilitychange", awake);
    return () => {
      stop.abort();
      clearTimeout(timer);
      document.removeEventListener("visibilitychange", awake);
    };
  }, [path, every]);
  return last.get(path) ?? { data: undefined, error: null };
}

function keep(path, answer) {
  last.delete(path);
  last.set(path, answer);
  if (last.size > KEPT) last.delete(last.keys().next().value);
}
