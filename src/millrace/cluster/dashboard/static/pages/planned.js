// A plan of Flink's REST API as the document of a job that has not begun, so that one graph draws both.
export function planned(plan) {
  return {
    id: plan.jid,
    state: "CREATED",
    planned: true,
    written: 0,
    // Flink lists the last vertex first.
    vertices: [...plan.nodes].reverse().map((node) => {
      const operators = lines(node.description);
      return {
        id: node.id,
        name: operators.join(" -> "),
        parallelism: node.parallelism,
        operators: operators.map((name) => ({ name })),
        inputs: (node.inputs ?? []).map((input) => ({ vertex: input.id, ship_strategy: input.ship_strategy, number: input.num })),
        subtasks: [],
      };
    }),
  };
}

// Flink writes descriptions as HTML: an operator a line, each below the one before it.
const lines = (description) =>
  description
    .split(/<br ?\/?>/)
    .map((line) => plain(line).replace(/^[\s+:|-]*\+- /, "").trim())
    .filter(Boolean);

const plain = (text) => new DOMParser().parseFromString(text, "text/html").body.textContent ?? "";
