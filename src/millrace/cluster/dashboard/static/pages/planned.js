// A plan of Flink's REST API as the document of a job that has not begun, so that one graph draws both.
export function planned(plan) {
  return {
    id: plan.jid,
    state: "CREATED",
    written: 0,
    vertices: plan.nodes.map((node) => ({
      id: node.id,
      name: plain(node.description),
      parallelism: node.parallelism,
      operators: plain(node.description).split(" -> ").map((name) => ({ name })),
      inputs: (node.inputs ?? []).map((input) => ({ vertex: input.id, ship_strategy: input.ship_strategy, number: input.num })),
      subtasks: [],
    })),
  };
}

// Flink writes descriptions as HTML.
const plain = (text) => (new DOMParser().parseFromString(text, "text/html").body.textContent ?? "").trim();
