// What was run on the SQL page. It lasts as long as the browser's tab, whatever page is looked at.
import { Session } from "./gateway.js";

const MOST_RUNS = 20;
const desk = { session: null, runs: [], changed: () => {} };

export const runs = () => desk.runs;

export function onChange(changed) {
  desk.changed = changed;
}

function seen(run) {
  desk.runs = [run, ...desk.runs.filter((each) => each.id !== run.id)].sort((a, b) => b.id - a.id).slice(0, MOST_RUNS);
  desk.changed();
}

// Whether it has begun well: a query that goes on forever is not waited for.
export async function run(base, statement) {
  desk.session ??= await Session.open(base);
  try {
    const { begun } = await desk.session.run(statement, seen);
    return begun;
  } catch (error) {
    // It may have been closed for being idle: the next statement opens one of its own.
    desk.session = null;
    throw error;
  }
}

addEventListener("pagehide", () => {
  desk.session?.close();
  desk.session = null;
});
