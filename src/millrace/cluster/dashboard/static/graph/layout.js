// A layered layout: where each vertex of a graph stands, and the points that each edge goes through.
// Ranks by the longest way, order within a rank by barycentres, places by least squares (pool adjacent violators).
const SWEEPS = 16;
const PULLS = 30;

const isBend = (id) => id.startsWith("\n");

export function layout(nodes, edges, { along, across, gapAlong, gapAcross }) {
  const graph = prepare(nodes, edges);
  const layers = order(graph);
  place(layers, graph, { across, gapAcross });
  const center = (id) => ({ rank: graph.ranks.get(id) * (along + gapAlong), cross: graph.cross.get(id) });
  const least = Math.min(...[...graph.cross.values()]) - across / 2;
  const reach = Math.max(...[...graph.cross.values()]) + across / 2 - least;
  const at = new Map(nodes.map((id) => [id, { along: center(id).rank, across: center(id).cross - least - across / 2 }]));
  const ways = graph.ways.map(({ edge, through, turned }) => {
    const points = through.map((id) => ({ along: center(id).rank, across: center(id).cross - least, bend: isBend(id) }));
    return { edge, points: turned ? points.reverse() : points, turned };
  });
  return { at, ways, along: layers.length * (along + gapAlong) - gapAlong, across: reach };
}

// Edges that would close a circle are turned round; long ones get a bend in each rank that they pass.
function prepare(nodes, edges) {
  const known = new Set(nodes);
  const seen = new Set();
  const proper = edges.filter((edge) => known.has(edge.from) && known.has(edge.to) && edge.from !== edge.to);
  const turned = circles(nodes, proper);
  const straight = proper.map((edge) => ({ edge, turned: turned.has(edge), from: turned.has(edge) ? edge.to : edge.from, to: turned.has(edge) ? edge.from : edge.to }));
  const ranks = rank(nodes, straight);
  const graph = { ranks, above: new Map(), below: new Map(), cross: new Map(), ways: [], all: [...nodes] };
  const join = (from, to) => {
    graph.below.set(from, [...(graph.below.get(from) ?? []), to]);
    graph.above.set(to, [...(graph.above.get(to) ?? []), from]);
  };
  straight.forEach(({ edge, turned: back, from, to }, number) => {
    const double = `${from} ${to}`;
    const through = [from];
    for (let level = ranks.get(from) + 1; level < ranks.get(to); level += 1) {
      const bend = `\n${number} ${level}`;
      ranks.set(bend, level);
      graph.all.push(bend);
      through.push(bend);
    }
    through.push(to);
    if (!seen.has(double)) for (let index = 1; index < through.length; index += 1) join(through[index - 1], through[index]);
    seen.add(double);
    graph.ways.push({ edge, through, turned: back });
  });
  return graph;
}

function circles(nodes, edges) {
  const found = new Set();
  const state = new Map();
  const from = new Map(nodes.map((id) => [id, edges.filter((edge) => edge.from === id)]));
  const visit = (id) => {
    state.set(id, "open");
    for (const edge of from.get(id)) {
      if (state.get(edge.to) === "open") found.add(edge);
      else if (!state.has(edge.to)) visit(edge.to);
    }
    state.set(id, "closed");
  };
  nodes.forEach((id) => state.has(id) || visit(id));
  return found;
}

function rank(nodes, edges) {
  const ranks = new Map(nodes.map((id) => [id, 0]));
  const above = new Map(nodes.map((id) => [id, []]));
  edges.forEach((edge) => above.get(edge.to).push(edge.from));
  const done = new Set();
  const settle = (id) => {
    if (!done.has(id)) {
      done.add(id);
      above.get(id).forEach(settle);
      ranks.set(id, Math.max(0, ...above.get(id).map((each) => ranks.get(each) + 1)));
    }
  };
  nodes.forEach(settle);
  // Sources move next to what reads them.
  nodes.filter((id) => !above.get(id).length).forEach((id) => {
    const next = edges.filter((edge) => edge.from === id).map((edge) => ranks.get(edge.to));
    if (next.length) ranks.set(id, Math.max(0, Math.min(...next) - 1));
  });
  return ranks;
}

function order(graph) {
  const depth = Math.max(0, ...graph.ranks.values()) + 1;
  let layers = Array.from({ length: depth }, () => []);
  const seen = new Set();
  const visit = (id) => {
    if (seen.has(id)) return;
    seen.add(id);
    layers[graph.ranks.get(id)].push(id);
    (graph.below.get(id) ?? []).forEach(visit);
  };
  [...graph.all].sort((a, b) => graph.ranks.get(a) - graph.ranks.get(b)).forEach(visit);
  let best = layers;
  let fewest = crossings(layers, graph);
  for (let sweep = 0; sweep < SWEEPS && fewest; sweep += 1) {
    layers = swept(layers, sweep % 2 ? graph.below : graph.above, sweep % 2 === 1);
    const now = crossings(layers, graph);
    if (now < fewest) [best, fewest] = [layers, now];
  }
  return best;
}

function swept(layers, neighbours, upwards) {
  const places = new Map();
  const result = layers.map((layer) => [...layer]);
  const indices = result.map((_, index) => index);
  for (const index of upwards ? indices.reverse() : indices) {
    const middle = new Map(
      result[index].map((id, own) => {
        const there = (neighbours.get(id) ?? []).map((each) => places.get(each)).filter((value) => value !== undefined);
        return [id, there.length ? there.reduce((a, b) => a + b, 0) / there.length : own / Math.max(1, result[index].length - 1)];
      }),
    );
    result[index].sort((a, b) => middle.get(a) - middle.get(b));
    result[index].forEach((id, own) => places.set(id, (own + 0.5) / result[index].length));
  }
  return result;
}

function crossings(layers, graph) {
  let found = 0;
  for (let index = 1; index < layers.length; index += 1) {
    const upper = new Map(layers[index - 1].map((id, own) => [id, own]));
    const ends = layers[index].flatMap((id, own) => (graph.above.get(id) ?? []).map((each) => [upper.get(each), own]));
    for (let a = 0; a < ends.length; a += 1) {
      for (let b = a + 1; b < ends.length; b += 1) {
        if ((ends[a][0] - ends[b][0]) * (ends[a][1] - ends[b][1]) < 0) found += 1;
      }
    }
  }
  return found;
}

function place(layers, graph, { across, gapAcross }) {
  const width = (id) => (isBend(id) ? 16 : across);
  const gap = (a, b) => (isBend(a) || isBend(b) ? gapAcross / 2 : gapAcross);
  const offsets = new Map();
  for (const layer of layers) {
    let offset = 0;
    layer.forEach((id, own) => {
      if (own) offset += (width(layer[own - 1]) + width(id)) / 2 + gap(layer[own - 1], id);
      offsets.set(id, offset);
    });
    layer.forEach((id) => graph.cross.set(id, offsets.get(id) - offset / 2));
  }
  for (let sweep = 0; sweep < PULLS; sweep += 1) {
    const both = sweep >= PULLS / 2;
    for (const layer of sweep % 2 ? [...layers].reverse() : layers) {
      const wanted = layer.map((id) => {
        const near = [...(both || sweep % 2 === 0 ? graph.above.get(id) ?? [] : []), ...(both || sweep % 2 ? graph.below.get(id) ?? [] : [])];
        const pull = (each) => (isBend(id) && isBend(each) ? 8 : isBend(each) ? 0.5 : 1);
        const total = near.reduce((sum, each) => sum + graph.cross.get(each) * pull(each), 0);
        const pulls = near.reduce((sum, each) => sum + pull(each), 0);
        return { value: (pulls ? total / pulls : graph.cross.get(id)) - offsets.get(id), weight: isBend(id) ? 4 : 1 };
      });
      pooled(wanted).forEach((value, own) => graph.cross.set(layer[own], value + offsets.get(layer[own])));
    }
  }
}

// The rising sequence nearest to the wanted values, by least squares.
function pooled(wanted) {
  const pools = [];
  for (const { value, weight } of wanted) {
    pools.push({ value, weight, count: 1 });
    while (pools.length > 1 && pools[pools.length - 2].value > pools[pools.length - 1].value) {
      const last = pools.pop();
      const before = pools[pools.length - 1];
      before.value = (before.value * before.weight + last.value * last.weight) / (before.weight + last.weight);
      before.weight += last.weight;
      before.count += last.count;
    }
  }
  return pools.flatMap((pool) => Array(pool.count).fill(pool.value));
}
