"""The passes: named functions Graph -> Graph, in the order in which they run."""

from __future__ import annotations

from collections.abc import Callable

from millrace.graph.nodes import Graph
from millrace.graph.passes.assign_parallelism import assign_parallelism
from millrace.graph.passes.assign_stages import assign_stages
from millrace.graph.passes.assign_uids import assign_uids
from millrace.graph.passes.chain_operators import chain_operators
from millrace.graph.passes.check_caches import check_caches
from millrace.graph.passes.check_loops import check_loops
from millrace.graph.passes.check_types import check_types
from millrace.graph.passes.choose_exchanges import choose_exchanges

PASSES: tuple[Callable[[Graph], Graph], ...] = (
    assign_parallelism,
    assign_uids,
    check_types,
    check_caches,
    check_loops,
    choose_exchanges,
    chain_operators,
    assign_stages,
)


def run_passes(graph: Graph) -> Graph:
    """All passes, one after the other."""
    for run in PASSES:
        graph = run(graph)
    return graph
