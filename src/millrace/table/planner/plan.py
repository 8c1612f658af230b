"""A streaming program in the making: nodes of a relational plan become operators with edges between them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from millrace.common.config_values import to_duration
from millrace.common.watermark_strategy import WatermarkStrategy
from millrace.graph.nodes import Edge
from millrace.graph.program import Program
from millrace.relational import nodes as n
from millrace.relational.rules.meaning import Meanings
from millrace.runtime.exchange.partitioners import Partitioner
from millrace.runtime.jobs import specs
from millrace.runtime.tables.base import Environment, TableConfig
from millrace.runtime.tables.exchange import ByColumns, Single, Thinning
from millrace.table.planner.changes import ChangelogError, Changes, Key
from millrace.table.planner.changing_values import STRATEGY, check_values
from millrace.table.planner.forms import changes_of, form_of
from millrace.table.planner.ordered_keys import ordered_keys
from millrace.table.planner.timing import is_timed


@dataclass(frozen=True)
class Options:
    """What the session says about all operators."""

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
    """Adds operators to a program. A node that is used twice, as the same object, becomes one operator.

    :param plans: that will be added, after ``share``.
    """

    def __init__(self, program: Program, options: Options, plans: Sequence[n.Rel] = ()) -> None:
        self.program = program
        self.options = options
        self._used_twice = used_twice(plans)
        self._plans = tuple(plans)
        self._known: dict[tuple[int, bool], tuple[n.Rel, Planned]] = {}
        self._changes: dict[int, tuple[n.Rel, Changes]] = {}
        self._checked: dict[int, n.Rel] = {}
        self.meanings = Meanings()
        self.earlier_meanings = Meanings(of_inputs=False)
        self._at: list[n.Rel] = []
        """the nodes whose operators are being added, the innermost one last"""
        self.strategies: dict[int, WatermarkStrategy] = {}
        """of scans, by their id: a watermark above them is made in their source"""
        self.in_step: set[int] = set()
        """nodes, by their id, whose results may not follow a watermark (``TableConfig.in_step``)"""
        self.of_sinks: set[int] = set()
        """scans, by their id, whose columns go as they are to a sink that knows rows by their key"""

    def add(self, node: n.Rel, before: bool = True) -> Planned:
        """The operators of a node and all below it.

        :param before: whether the consumer needs the old row of an update (-U) besides the new one.
        :raises NotImplementedError: a node has no streaming form.
        """
        # One operator serves all; who does without old rows drops them.
        before = before or id(node) in self._used_twice
        # The node itself is kept, too: its id would else be given to another one.
        known = self._known.get((id(node), before))
        if known is None:
            self._check_values(node)
            self._at.append(node)
            known = node, form_of(node).operators(self, node, before)
            self._at.pop()
            self._known[id(node), before] = known
        return known[1]

    def _check_values(self, node: n.Rel) -> None:
        """Look for values that are computed again when a row is taken back, once in each node."""
        if id(node) in self._checked:
            return
        self._checked[id(node)] = node
        changing = [each for each in node.inputs if not self.changes(each).append_only]
        check_values(node, changing, self.options.environment.configuration.get(STRATEGY, "").upper())
        if isinstance(node, (n.Project, n.Filter)):  # one operator for several of them
            self._check_values(node.input)

    def add_insertions(self, node: n.Rel, consumer: str) -> Planned:
        """The operators of a node whose consumer takes insertions only.

        :raises ChangelogError: there would be others.
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
        known = self._changes.get(id(node))
        if known is None:
            known = self._changes[id(node)] = node, changes_of(node, list(map(self.changes, node.inputs)))
        return known[1]

    def is_shared(self, node: n.Rel) -> bool:
        """Whether several read a node's result."""
        return id(node) in self._used_twice

    @cached_property
    def readers(self) -> dict[int, list[n.Rel]]:
        """The id of each node -> the nodes that read its result."""
        found: dict[int, list[n.Rel]] = {}
        seen: set[int] = set()

        def visit(node: n.Rel) -> None:
            if id(node) in seen:
                return
            seen.add(id(node))
            for each in node.inputs:
                found.setdefault(id(each), []).append(node)
                visit(each)

        for plan in self._plans:
            visit(plan)
        return found

    def is_timed(self, node: n.Rel) -> bool:
        """Whether anything above a node may go by its watermarks."""
        return is_timed(node, lambda each: self.readers.get(id(each), ()))

    def source(self, name: str, source: Any, node: n.Rel) -> Planned:
        """A source that gives the rows of a leaf."""
        strategy = self.strategies.get(id(node), WatermarkStrategy.no_watermarks())
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
        if self._at and id(self._at[-1]) in self.in_step:
            config = replace(config, in_step=True)
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

    def width(self, inputs: Sequence[tuple[Planned, Partitioner | None]]) -> dict[str, Any]:
        """The parallelism of what reads these inputs, as arguments of ``Program.add``.

        Changes of a row must not overtake each other, nor the rows of a sorted result: who reads them without an
        exchange has as many subtasks as they come from.
        """
        above = [(self.program.node(id), each) for each, by in inputs if by is None for id in each.ids]
        widths = {node.parallelism for node, each in above if each.retracts}
        single = any(isinstance(by, Single) for _, by in inputs) or any(node.non_parallel for node, _ in above)
        if single or len(widths) > 1:
            return {"parallelism": 1, "non_parallel": True}
        return {"parallelism": widths.pop() if widths else None}


def used_twice(plans: Sequence[n.Rel]) -> set[int]:
    """The ids of the nodes that are inputs of several others."""
    seen: set[int] = set()
    found: set[int] = set()

    def visit(node: n.Rel) -> None:
        if id(node) in seen:
            found.add(id(node))
            return
        seen.add(id(node))
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
