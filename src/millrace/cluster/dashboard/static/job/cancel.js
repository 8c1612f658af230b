// Cancelling, after a question.
import { html, useState } from "../lib/html.js";
import { send } from "../data/api.js";
import { announce } from "../parts/announce.js";
import { Dialog } from "../parts/dialog.js";
import { Problem } from "../parts/small.js";
import { Time } from "../text/times.js";

export function CancelDialog({ job, close }) {
  const [error, setError] = useState(null);
  const [busy, setBusy] = useState(false);
  const last = job.checkpoints.history.find((each) => each.status === "COMPLETED");
  const cancel = async () => {
    setBusy(true);
    try {
      await send("PATCH", `jobs/${job.id}?mode=cancel`);
      announce(`Cancelling ${job.name}`);
      close();
    } catch (problem) {
      setError(problem);
      setBusy(false);
    }
  };
  return html`<${Dialog} title="Cancel this job?" close=${close}>
    <p><b>${job.name}</b> ends at once, without a savepoint.${" "}
      ${last ? html`Its last checkpoint is of <${Time} ms=${last.latest_ack} />${job.checkpoints.config.retained_on_cancellation ? " and is kept." : "; it is deleted with the job."}` : "It has no checkpoint: what it has done since its start cannot be taken up again."}</p>
    <${Problem} error=${error} />
    <div class="buttons"><button type="button" onClick=${close}>Keep it running</button>
      <button type="button" class="danger" disabled=${busy} onClick=${cancel}>Cancel job</button></div><//>`;
}
