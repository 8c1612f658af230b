"""Values that are computed again when a row is taken back, where that must find the row.

RAND() over a table that changes gives a row another value when it is taken back than when it came. Sinks and Top-N know
their rows by the other columns; aggregates and joins do not, and what they give would be wrong from then on.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator

from millrace.relational import nodes as n
from millrace.relational.rex import refs
from millrace.relational.rex_text import rex_text
from millrace.relational.rules.determinism import is_deterministic
from millrace.table.planner.changes import ChangelogError

logger = logging.getLogger(__name__)

STRATEGY = "table.optimizer.non-deterministic-update.strategy"
RESOLVE = "TRY_RESOLVE"
_PASS = (n.Project, n.Watermark, n.Hinted, n.Sink, n.LookupJoin)
"""They look for no row again, or do so by columns that stay the same."""


def check_values(node: n.Rel, changing: list[n.Rel], strategy: str) -> None:
    """Say what a node would not find again.

    :param changing: those of its inputs whose rows are taken back.
    :raises ChangelogError: with TRY_RESOLVE there is such a value.
    """
    for text in (text for each in changing for text in _problems(node, each)):
        problem = (
            f"{text} may have another value when a row is taken back than when it came, so {type(node).__name__} would "
            f"not find the row again, and give wrong results. Compute it before rows change, in a table of its own, or "
            f"in the query that reads the result"
        )
        if strategy == RESOLVE:
            raise ChangelogError(f"{problem}; '{STRATEGY}' = 'IGNORE' lets it run")
        logger.warning("%s; '%s' = '%s' refuses such queries", problem, STRATEGY, RESOLVE)


def computed_anew(node: n.Rel) -> dict[int, str]:
    """The columns that are computed of each change by itself, as RAND(): place -> text."""
    if isinstance(node, (n.Filter, n.Watermark, n.Hinted)):
        return computed_anew(node.input)
    if not isinstance(node, n.Project):
        return {}  # what keeps rows gives them back as they were
    below = computed_anew(node.input)
    found: dict[int, str] = {}
    for place, each in enumerate(node.expressions):
        of_below = next((below[column] for column in sorted(refs(each)) if column in below), None)
        if of_below is not None or not is_deterministic(each):
            found[place] = of_below or rex_text(each, node.input.schema)
    return found


def _problems(node: n.Rel, input: n.Rel) -> Iterator[str]:
    if isinstance(node, n.Filter):
        if not is_deterministic(node.condition):
            yield rex_text(node.condition, input.schema)
        anew = computed_anew(input)
        yield from dict.fromkeys(anew[place] for place in sorted(refs(node.condition)) if place in anew)
    elif not isinstance(node, _PASS):
        anew, used = computed_anew(input), _looked_for(node, input)
        yield from dict.fromkeys(text for place, text in anew.items() if place in used)


def _looked_for(node: n.Rel, input: n.Rel) -> set[int]:
    """The columns by which a node finds the rows of an input again."""
    if isinstance(node, (n.Aggregate, n.WindowAggregate)):
        return {*node.keys, *(place for call in node.aggregates for each in call.inputs() for place in refs(each))}
    if isinstance(node, n.Rank):
        return set(node.partition)
    return set(range(len(input.schema)))
