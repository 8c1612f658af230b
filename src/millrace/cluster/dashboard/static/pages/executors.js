// The executors of Spark: Flink's task managers.
import { html } from "../lib/html.js";
import { link } from "../app/router.js";
import { usePoll } from "../data/poll.js";
import { Bar, Section, Waiting } from "../parts/small.js";
import { Table } from "../parts/table.js";
import { bytes, duration } from "../text/numbers.js";

export default function Executors() {
  const answer = usePoll("taskmanagers", 3000);
  return html`<h1>Executors</h1><${Waiting} answer=${answer}>${({ taskmanagers }) => html`<${Section} title="Executors (task managers)">
    <${Table} caption="Executors" rows=${taskmanagers} keyOf=${(each) => each.id} columns=${COLUMNS} empty="Spark has no executor at the moment." /><//>`}<//>`;
}

const used = (each) => each.slotsNumber - each.freeSlots;

const COLUMNS = [
  { name: "Executor", of: (each) => html`<a href=${link("executors", each.id)}>${each.id}</a>`, by: (each) => each.id },
  { name: "Address", of: (each) => each.path, by: (each) => each.path },
  { name: "Slots in use", of: (each) => html`<${Bar} share=${each.slotsNumber ? used(each) / each.slotsNumber : 0} label=${`${used(each)} of ${each.slotsNumber}`} /> ${used(each)} of ${each.slotsNumber}`, by: used },
  { name: "Tasks", number: true, of: (each) => each.assignedTasks ?? "–", by: (each) => each.assignedTasks },
  { name: "Cores", number: true, of: (each) => each.hardware.cpuCores, by: (each) => each.hardware.cpuCores },
  { name: "Memory of the machine", number: true, of: (each) => bytes(each.hardware.physicalMemory), by: (each) => each.hardware.physicalMemory },
  { name: "Heap free", number: true, of: (each) => bytes(each.hardware.freeMemory), by: (each) => each.hardware.freeMemory },
  { name: "Last heartbeat", number: true, of: (each) => `${duration(Math.max(0, Date.now() - each.timeSinceLastHeartbeat))} ago`, by: (each) => each.timeSinceLastHeartbeat },
];
