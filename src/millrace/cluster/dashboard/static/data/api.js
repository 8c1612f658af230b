// Requests to the server that the pages came from. Paths are relative, so that it may live behind a proxy's prefix.
export class ApiError extends Error {
  constructor(status, text) {
    super(text);
    this.status = status;
  }
}

const NO_RIGHT =
  "The server wants to know who you are before anything is changed. Open the link with the token that the start of the " +
  "cluster (or of the run) has printed, then come back.";

export const get = (path, signal) => request("GET", path, undefined, signal);
export const send = (method, path, body) => request(method, path, body);

export async function text(path, signal) {
  const answer = await reach(path, { signal });
  if (!answer.ok) throw new ApiError(answer.status, await reason(answer));
  return answer.text();
}

async function request(method, path, body, signal) {
  const form = body instanceof FormData;
  const answer = await reach(path, {
    method,
    signal,
    headers: body === undefined || form ? {} : { "Content-Type": "application/json" },
    body: body === undefined || form ? body : JSON.stringify(body),
  });
  if (!answer.ok) throw new ApiError(answer.status, await reason(answer));
  const content = await answer.text();
  return content ? JSON.parse(content) : {};
}

async function reach(path, options) {
  try {
    return await fetch(new URL(path, document.baseURI), { credentials: "same-origin", ...options });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new ApiError(0, "The server does not answer.");
  }
}

async function reason(answer) {
  if (answer.status === 401 || answer.status === 403) return NO_RIGHT;
  const content = await answer.text();
  try {
    const errors = JSON.parse(content).errors;
    return readable(errors[errors.length - 1]) || `HTTP ${answer.status}`;
  } catch {
    return content.slice(0, 300) || `HTTP ${answer.status}`;
  }
}

// Errors come with whole stack traces: what a reader needs is their first line.
export const readable = (error) =>
  String(error ?? "")
    .replace(/^<Exception on server side:\s*/, "")
    .split("\n")[0]
    .replace(/^(?:[\w$]+\.)+(?=\w+(?:Error|Exception): )/, "")
    .replace(/^RestHandlerException: /, "");
