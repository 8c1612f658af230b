"""Builds a streaming program: nodes of a relational plan become operators with edges between them.

Each kind of node has a streaming form, registered by the modules of ``planner/nodes``: it says which changes the node's
result has (updates, deletions, unique keys), and which operators compute it.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from millrace.common.configuration import to_duration
from millrace.common.watermark_strategy import WatermarkStrategy
from millrace.graph.program import Edge, Program
from millrace.relational import nodes as n
from millrace.relational.rex import Call, Ref, Rex, refs, rex_text, walk
from millrace.relational.rules.filters_and_projections import is_deterministic
from millrace.relational.rules.plan_text import Meanings
from millrace.relational.sources import goes_by_key
from millrace.runtime.exchange.partitioners import Partitioner
from millrace.runtime.operators import specs
from millrace.runtime.tables.base import Environment, TableConfig
from millrace.runtime.tables.exchange import ByColumns, Single, Thinning
from millrace.table.planner import nodes
from millrace.util.identity import IdentityDict, IdentitySet
from millrace.util.names import import_modules

# The changes of a table

Key = tuple[int, ...]


@dataclass(frozen=True)
class Changes:
    """The changes that the result of one node has beyond insertions, and its unique keys."""

    updates: bool = False
    deletes: bool = False
    keys: frozenset[Key] = frozenset()
    """sets of columns of which no two rows of the table have equal values"""
    cause: str = ""
    """the node that first made changes other than insertions, in words for errors"""

    @property
    def append_only(self) -> bool:
        return not (self.updates or self.deletes)

    @property
    def text(self) -> str:
        """The kinds of change as EXPLAIN shows them, e.g. ``[I,UB,UA,D]``."""
        kinds = ["I", *(["UB", "UA"] if self.updates else []), *(["D"] if self.deletes else [])]
        return f"[{','.join(kinds)}]"


APPEND = Changes()


class ChangelogError(ValueError):
    """An operator or a sink would get changes that it can't take."""


def same(node: n.Rel, inputs: list[Changes]) -> Changes:
    """The result has the same changes and keys as the input."""
    return inputs[0]


def append(node: n.Rel, inputs: list[Changes]) -> Changes:
    """Insertions alone."""
    return APPEND


def without_keys(node: n.Rel, inputs: list[Changes]) -> Changes:
    """The result has the changes of the input but no keys: one row of the input may have become several."""
    return replace(inputs[0], keys=frozenset())


def moved(keys: Iterable[Key], place: dict[int, int]) -> frozenset[Key]:
    """The keys with their columns at other positions (``place``: old -> new); keys of which a column is missing are
    dropped."""
    return frozenset(tuple(place[each] for each in key) for key in keys if all(each in place for each in key))


# Streaming forms

Operators = Callable[["Plan", Any, bool], "Planned"]
"""(plan, node, whether its consumer needs the old rows of updates) -> its operators added"""
ChangesOf = Callable[[Any, list[Changes]], Changes]
"""(node, the changes of its inputs) -> those of its result"""


@dataclass(frozen=True)
class StreamingForm:
    """How one kind of node is run in streaming: its operators and its changes."""

    operators: Operators
    changes: ChangesOf


_forms: dict[type[n.Rel], StreamingForm] = {}


def streaming_form(*kinds: type[n.Rel], changes: ChangesOf) -> Callable[[Operators], Operators]:
    """Register how nodes of these kinds become operators, in a module of ``planner/nodes``."""

    def register(operators: Operators) -> Operators:
        _forms.update(dict.fromkeys(kinds, StreamingForm(operators, changes)))
        return operators

    return register


def form_of(node: n.Rel) -> StreamingForm:
    """:raises NotImplementedError: this kind of node has no streaming form."""
    import_modules(nodes)
    form = _forms.get(type(node))
    if form is None:
        raise NotImplementedError(f"{type(node).__name__} has no streaming form")
    return form


def changes_of(node: n.Rel, inputs: Sequence[Changes] | None = None) -> Changes:
    """The changes of a node's result.

    :param inputs: those of its inputs, if they are known.
    :raises NotImplementedError: this kind of node has no streaming form.
    """
    return form_of(node).changes(node, list(map(changes_of, node.inputs)) if inputs is None else list(inputs))


# Values that are computed again when a row is taken back

logger = logging.getLogger(__name__)

STRATEGY = "table.optimizer.non-deterministic-update.strategy"
RESOLVE = "TRY_RESOLVE"
_PASS = (n.Project, n.Watermark, n.Hinted, n.Sink, n.LookupJoin)
"""Kinds of node that never look up an old row, or look it up only by columns that stay the same."""


def check_values(node: n.Rel, changing: list[n.Rel], strategy: str) -> None:
    """Report values of a node's input that differ each time they are computed, so that the node would not find a
    retracted row.

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


# Keys whose changes come in order

_PASSING = (n.Filter, n.Hinted, n.Watermark)


def ordered_keys(node: n.Rel, changes: Callable[[n.Rel], Changes]) -> frozenset[Key]:
    """The keys of a node's result whose changes come in order.

    :param changes: those of a node.
    """
    here = changes(node)
    if here.append_only:
        return here.keys
    if isinstance(node, _PASSING):
        return ordered_keys(node.input, changes)
    if isinstance(node, n.Project):
        places: dict[int, int] = {}
        for index, expression in enumerate(node.expressions):
            if isinstance(expression, Ref):
                places.setdefault(expression.index, index)
        return moved(ordered_keys(node.input, changes), places)
    partition = _partition(node)
    return frozenset() if partition is None else frozenset(key for key in here.keys if set(partition) <= set(key))


def _partition(node: n.Rel) -> Sequence[int] | None:
    """The columns of the result by which its rows are spread over tasks; None if the result has no such columns."""
    if isinstance(node, n.Aggregate):
        return range(len(node.keys)) if node.sets is None else None
    if isinstance(node, (n.Rank, n.Over)):
        return node.partition
    if isinstance(node, n.Deduplicate):
        return node.keys
    if isinstance(node, n.FromChangelog) and node.by_key:
        return node.partition
    if isinstance(node, n.Sort):
        return ()
    if isinstance(node, n.Scan) and goes_by_key(node.source):
        primary = node.source.primary_key
        columns = range(len(node.columns)) if node.projected is None else node.projected
        return [list(columns).index(each) for each in primary] if set(primary) <= set(columns) else None
    return None


# Use of watermarks

Readers = Callable[[n.Rel], Sequence[n.Rel]]

_BY_ARRIVAL = (n.Project, n.Filter, n.Hinted, n.Expand, n.Aggregate, n.Join, n.SetOp, n.Rank, n.Deduplicate)
"""Kinds of node that process rows in the order of arrival, unless they have a window."""


def is_timed(node: n.Rel, readers: Readers) -> bool:
    """Whether an operator above a node goes by watermarks; False if all up to the INSERTs process rows in order of
    arrival.

    :param readers: the nodes that read a node's result.
    """
    above = readers(node)
    if not above:
        return not isinstance(node, n.Sink)
    return any(_goes_by_time(each) or is_timed(each, readers) for each in above)


def _goes_by_time(node: n.Rel) -> bool:
    if isinstance(node, n.Sink):
        return node.wants_one_row
    return not isinstance(node, _BY_ARRIVAL) or getattr(node, "window", None) is not None or _asks(node)


def _asks(node: n.Rel) -> bool:
    """Whether an expression of a node has the watermark in it."""
    found: list[Rex] = []

    def look(expression: Rex) -> Rex:
        found.extend(walk(expression))
        return expression

    node.map_expressions(look)
    return any(isinstance(each, Call) and each.function == "CURRENT_WATERMARK" for each in found)


# The program


@dataclass(frozen=True)
class Options:
    """The session's settings for all operators."""

    environment: Environment = field(default_factory=Environment)
    state_ttl: int = 0
    """ms; 0 for no limit"""
    two_phase: bool = True
    """whether aggregates may be split into a local and a global one (``table.optimizer.agg-phase-strategy``)"""
    idle_timeout: int = 0
    """ms; ``table.exec.source.idle-timeout``"""
    split_distinct: bool = False
    """``table.optimizer.distinct-agg.split.enabled``"""
    least_slice: int = 0
    """ms; ``table.exec.mini-batch.allow-latency``, where mini-batch is enabled"""
    every_change: bool = False
    """``millrace.table.aggregate.every-change``"""
    new_calls_begin_empty: bool = False
    """``millrace.table.aggregate.new-begin-empty``"""

    @property
    def common(self) -> dict[str, Any]:
        """What every ``TableConfig`` takes."""
        return {
            "environment": self.environment,
            "state_ttl": self.state_ttl,
            "least_slice": self.least_slice,
            "every_change": self.every_change,
            "new_calls_begin_empty": self.new_calls_begin_empty,
        }


@dataclass(frozen=True)
class Planned:
    """The result of a node that has its operators."""

    ids: tuple[int, ...]
    """the nodes of the program that give it: several for a union"""
    schema: n.Schema
    changes: Changes

    @property
    def retracts(self) -> bool:
        return not self.changes.append_only


class Plan:
    """Adds operators to a program. A node that is used twice, as the same object, becomes one operator: all
    collections of nodes here know them by identity.

    :param plans: the plans that will be added, after ``share``.
    """

    def __init__(self, program: Program, options: Options, plans: Sequence[n.Rel] = ()) -> None:
        self.program = program
        self.options = options
        self._used_twice = used_twice(plans)
        self._plans = tuple(plans)
        self._planned: dict[bool, IdentityDict[n.Rel, Planned]] = {True: IdentityDict(), False: IdentityDict()}
        """nodes whose operators give old rows of updates (True) and those whose operators do not, with their results"""
        self._changes = IdentityDict[n.Rel, Changes]()
        self._checked = IdentitySet[n.Rel]()
        self.meanings = Meanings()
        self.earlier_meanings = Meanings(of_inputs=False)
        self._at: list[n.Rel] = []
        """the nodes whose operators are being added, the innermost one last"""
        self.strategies = IdentityDict[n.Rel, WatermarkStrategy]()
        """scans -> the watermarks that their source makes, of a ``Watermark`` node above them"""
        self.in_step = IdentitySet[n.Rel]()
        """nodes whose results may not follow a watermark (``TableConfig.in_step``)"""
        self.of_sinks = IdentitySet[n.Rel]()
        """scans whose columns go, with the same values, to a sink that finds rows by their key"""

    def add(self, node: n.Rel, before: bool = True) -> Planned:
        """The operators of a node and all below it.

        :param before: whether the consumer needs the old row of an update (-U) besides the new one.
        :raises NotImplementedError: a node has no streaming form.
        """
        # One operator serves all; who does without old rows drops them.
        before = before or node in self._used_twice
        planned = self._planned[before].get(node)
        if planned is None:
            self._check_values(node)
            self._at.append(node)
            planned = self._planned[before][node] = form_of(node).operators(self, node, before)
            self._at.pop()
        return planned

    def _check_values(self, node: n.Rel) -> None:
        """Look for values that are computed again when a row is taken back, once in each node."""
        if node in self._checked:
            return
        self._checked.add(node)
        changing = [each for each in node.inputs if not self.changes(each).append_only]
        check_values(node, changing, self.options.environment.configuration.get(STRATEGY, "").upper())
        if isinstance(node, (n.Project, n.Filter)):  # one operator for several of them
            self._check_values(node.input)

    def add_insertions(self, node: n.Rel, consumer: str) -> Planned:
        """Add the operators of a node whose consumer takes only insertions.

        :raises ChangelogError: the node has updates or deletions.
        """
        changes = self.changes(node)
        if not changes.append_only:
            raise ChangelogError(
                f"{consumer} takes no updates and no deletions, but {changes.cause} makes them: put it before that, "
                "or aggregate and join without windows and times, which take changes"
            )
        return self.add(node)

    def changes(self, node: n.Rel) -> Changes:
        """The changes of a node's result, worked out once."""
        found = self._changes.get(node)
        if found is None:
            found = self._changes[node] = changes_of(node, list(map(self.changes, node.inputs)))
        return found

    def is_shared(self, node: n.Rel) -> bool:
        """Whether several read a node's result."""
        return node in self._used_twice

    @cached_property
    def readers(self) -> IdentityDict[n.Rel, list[n.Rel]]:
        """Each node that is an input -> the nodes that read its result."""
        found = IdentityDict[n.Rel, list[n.Rel]]()
        seen = IdentitySet[n.Rel]()

        def visit(node: n.Rel) -> None:
            if node in seen:
                return
            seen.add(node)
            for each in node.inputs:
                found.setdefault(each, []).append(node)
                visit(each)

        for plan in self._plans:
            visit(plan)
        return found

    def is_timed(self, node: n.Rel) -> bool:
        """Whether anything above a node may go by its watermarks."""
        return is_timed(node, lambda each: self.readers.get(each, ()))

    def source(self, name: str, source: Any, node: n.Rel) -> Planned:
        """A source that gives the rows of a leaf."""
        strategy = self.strategies.get(node, WatermarkStrategy.no_watermarks())
        spec = specs.Source(source, strategy)
        added = self.program.add(name, spec, parallelism=getattr(source, "parallelism", None))
        return Planned((added.id,), node.schema, self.changes(node))

    def step(
        self,
        name: str,
        config: TableConfig,
        inputs: Sequence[tuple[Planned, Partitioner | None]],
        schema: n.Schema,
        changes: Changes,
    ) -> Planned:
        """One operator. It is the only one of its kind where everything goes to a single subtask."""
        edges = tuple(Edge(id, by, input=place) for place, (each, by) in enumerate(inputs) for id in each.ids)
        if self._at and self._at[-1] in self.in_step:
            config = replace(config, in_step=True)
        if self._at:
            config = replace(config, **self._names(self._at[-1]))
        if self._at and not config.meaning:
            at = self._at[-1]
            meaning, earlier = self.meanings.of(at), self.earlier_meanings.of(at)
            config = replace(
                config,
                meaning=meaning,
                earlier_meaning=() if earlier == meaning else earlier,
                call_texts=self.meanings.calls(at),
                input_columns=self.meanings.inputs(at) if meaning else (),
            )
        added = self.program.add(name, specs.TableStep(config), edges, **self.width(inputs))
        return Planned((added.id,), schema, changes)

    @staticmethod
    def _names(node: n.Rel) -> dict[str, Any]:
        """The names of a node's columns and of those of its inputs, as settings of its operators."""
        inputs = tuple(tuple(column.name for column in each.schema) for each in node.inputs or (node,))
        return {"input_names": inputs, "result_names": tuple(column.name for column in node.schema)}

    def width(self, inputs: Sequence[tuple[Planned, Partitioner | None]]) -> dict[str, Any]:
        """The parallelism of an operator that reads these inputs, as arguments of ``Program.add``.

        Changes of a row must not overtake each other, nor the rows of a sorted result: who reads them without an
        exchange has as many subtasks as they come from.
        """
        above = [(self.program.node(id), each) for each, by in inputs if by is None for id in each.ids]
        widths = {node.parallelism for node, each in above if each.retracts}
        single = any(isinstance(by, Single) for _, by in inputs) or any(node.non_parallel for node, _ in above)
        if single or len(widths) > 1:
            return {"parallelism": 1, "non_parallel": True}
        return {"parallelism": widths.pop() if widths else None}


def used_twice(plans: Sequence[n.Rel]) -> IdentitySet[n.Rel]:
    """The nodes that are inputs of several others."""
    seen = IdentitySet[n.Rel]()
    found = IdentitySet[n.Rel]()

    def visit(node: n.Rel) -> None:
        if node in seen:
            found.add(node)
            return
        seen.add(node)
        for each in node.inputs:
            visit(each)

    for plan in plans:
        visit(plan)
    return found


def by(columns: Sequence[int], thinning: Thinning | None = None) -> Partitioner:
    """The exchange that brings rows with equal values in these columns together.

    :param thinning: what may be left out of a batch before.
    """
    return ByColumns(tuple(columns), thinning=thinning) if columns else Single()


def add_changing(plan: Plan, node: n.Rel, partition: Sequence[int]) -> tuple[Planned, Key | None]:
    """The operators of an input, and the columns by which its changes know their rows within a partition. With such
    columns there need be no old rows (-U); None if there are none, or if rows never change."""
    keys = [key for key in ordered_keys(node, plan.changes) if set(partition) <= set(key)]
    if plan.changes(node).append_only or not keys:
        return plan.add(node), None
    key = min(keys, key=lambda each: (len(each), each))
    return plan.add(node, False), tuple(column for column in key if column not in partition)


def hinted_ttl(node: n.Rel) -> int | None:
    """The time to live (ms) that a STATE_TTL hint gives to the rows of an input, None without."""
    while isinstance(node, n.Project):
        node = node.input
    if isinstance(node, n.Hinted):
        for name, arguments in node.hints:
            if name == "STATE_TTL":
                return to_duration(arguments[0]).to_millis()
    return None
