// Operations that take a while: asked for until they have ended.
import { ApiError, get, readable } from "./api.js";

const PAUSE = 500;
const PATIENCE = 600_000;

export async function ended(path) {
  const deadline = Date.now() + PATIENCE;
  while (Date.now() < deadline) {
    const answer = await get(path);
    if (answer.status?.id === "COMPLETED") {
      const cause = answer.operation?.["failure-cause"] ?? answer.operation?.failureCause;
      if (cause) throw new ApiError(200, readable(cause["stack-trace"] ?? cause.class));
      return answer.operation ?? {};
    }
    await new Promise((resolve) => setTimeout(resolve, PAUSE));
  }
  throw new ApiError(0, "It has not ended within ten minutes. It may still do so: see Checkpoints.");
}
