// How checkpoints are configured.
import { html } from "../lib/html.js";
import { Facts } from "../parts/small.js";
import { duration } from "../text/numbers.js";

const FOREVER = 9e18;
const yes = (value) => (value ? "yes" : "no");

export function CheckpointConfiguration({ config }) {
  return html`<${Facts} facts=${[
    ["Interval", config.interval > FOREVER ? "none: checkpoints are off" : duration(config.interval)],
    ["Mode", config.mode === "exactly_once" ? "exactly once" : "at least once"],
    ["Timeout", duration(config.timeout)],
    ["Pause between two", config.min_pause ? duration(config.min_pause) : "none"],
    ["At once", config.max_concurrent],
    ["Failures tolerated", config.tolerable_failures],
    ["Kept when the job is cancelled", yes(config.retained_on_cancellation)],
    ["State backend", config.state_backend],
    ["Storage", config.storage],
    ["Unaligned", yes(config.unaligned)],
    ["After tasks have finished", yes(config.after_tasks_finish)],
  ]} />`;
}
