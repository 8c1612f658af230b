// A session of the SQL gateway, and the operations in it.
import { ApiError, get, send } from "./api.js";

const VERSION = "v2";
const SOON = 300;
const WAIT = 1500;
const MOST_ROWS = 5000;

export class Session {
  static async open(base) {
    const { sessionHandle } = await send("POST", `${base}/${VERSION}/sessions`, { properties: {} });
    return new Session(base, sessionHandle);
  }

  constructor(base, handle) {
    this.base = base;
    this.path = `${base}/${VERSION}/sessions/${handle}`;
    this.count = 0;
  }

  close() {
    this.closed = true;
    // The page may be about to end: the request outlives it.
    fetch(new URL(this.path, document.baseURI), { method: "DELETE", keepalive: true }).catch(() => {});
  }

  // Runs a statement; seen is called with {id, statement, columns, rows, state, error} whenever that changes.
  async run(statement, seen) {
    this.count += 1;
    const run = { id: Date.now() * 100 + (this.count % 100), statement, columns: [], rows: [], changes: 0, state: "RUNNING", error: null };
    const { operationHandle } = await send("POST", `${this.path}/statements`, { statement });
    const operation = `${this.path}/operations/${operationHandle}`;
    const tell = () => seen({ ...run });
    run.stop = () => {
      run.stopped = true;
      send("DELETE", `${operation}/close`).catch(() => {});
      run.state = "CANCELED";
      tell();
    };
    const begun = new Promise((resolve) => this.follow(run, operation, tell, resolve));
    return { begun };
  }

  async follow(run, operation, tell, begun) {
    tell();
    let next = `${operation}/result/0?rowFormat=JSON`;
    try {
      while (next && !run.stopped && !this.closed) {
        const page = await get(next);
        if (page.resultType === "NOT_READY") {
          await pause(SOON);
          continue;
        }
        run.columns = page.results?.columns ?? run.columns;
        run.query = page.isQueryResult;
        const changes = page.results?.data ?? [];
        for (const change of changes) apply(run, change);
        begun(true);
        // The address that the gateway gives begins at its own root.
        next = page.nextResultUri ? `${this.base}${page.nextResultUri}` : null;
        if (!next) run.state = "FINISHED";
        tell();
        if (next) await pause(changes.length ? SOON : WAIT);
      }
    } catch (error) {
      if (run.stopped) return;
      run.state = "ERROR";
      run.error = error instanceof ApiError ? error.message : String(error);
      tell();
    }
    begun(run.state !== "ERROR");
  }
}

const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

// The rows as they are after a change.
export function apply(run, { kind, fields }) {
  run.changes += 1;
  if (kind === "INSERT" || kind === "UPDATE_AFTER") {
    run.rows.push(fields);
    if (run.rows.length > MOST_ROWS) {
      run.rows.shift();
      run.cut = true;
    }
    return;
  }
  const gone = JSON.stringify(fields);
  const at = run.rows.findLastIndex((row) => JSON.stringify(row) === gone);
  if (at >= 0) run.rows.splice(at, 1);
}
