"""Windows of the Table API: Tumble, Slide, Session for groups, Over for the rows around each row."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from millrace.table.expression_methods.expression import Expression
from millrace.table.expression_methods.expression_base import expression_of, expressions_of, node_of
from millrace.table.sql import nodes

__all__ = ["Tumble", "Session", "Slide", "Over", "GroupWindow", "OverWindow"]

UNBOUNDED_ROW: Expression[Any] = Expression(nodes.Var("UNBOUNDED_ROW"))
"""Frame bound of ``Over.preceding``: all rows before the current one."""
UNBOUNDED_RANGE: Expression[Any] = Expression(nodes.Var("UNBOUNDED_RANGE"))
CURRENT_ROW: Expression[Any] = Expression(nodes.Var("CURRENT_ROW"))
CURRENT_RANGE: Expression[Any] = Expression(nodes.Var("CURRENT_RANGE"))


@dataclass(frozen=True)
class _GroupParts:
    """What the steps of a builder have said so far."""

    kind: str
    size: nodes.Node
    slide: nodes.Node | None = None
    time: nodes.Node | None = None


class GroupWindow:
    """A group window with its alias, for ``Table.window``.

    >>> isinstance(Tumble.over(lit(1).hours).on(col("at")).alias("w"), GroupWindow)
    True
    """

    def __init__(self, parts: _GroupParts, name: str) -> None:
        self._parts = parts
        self.name = name


class _OnTime:
    """A window over a time column. It needs an alias."""

    def __init__(self, parts: _GroupParts) -> None:
        self._parts = parts

    def alias(self, alias: str) -> GroupWindow:
        """The name that the window has in ``group_by`` and ``select``."""
        return GroupWindow(self._parts, _name(alias))


def _name(alias: Any) -> str:
    node = node_of(alias)
    return node.name if isinstance(node, nodes.Column) else str(alias)


def _on(parts: _GroupParts, time_field: Expression[Any]) -> _GroupParts:
    return _GroupParts(parts.kind, parts.size, parts.slide, expression_of(time_field))


class TumbleWithSizeOnTime(_OnTime):
    """A tumbling window over a time column."""


class TumbleWithSize:
    """A tumbling window of a size."""

    def __init__(self, parts: _GroupParts) -> None:
        self._parts = parts

    def on(self, time_field: Expression[Any]) -> TumbleWithSizeOnTime:
        """The column with the time attribute."""
        return TumbleWithSizeOnTime(_on(self._parts, time_field))


class Tumble:
    """Windows that follow each other: ``Tumble.over(lit(10).minutes).on(col("ts")).alias("w")``.

    >>> hours = clicks.window(Tumble.over(lit(1).hours).on(col("at")).alias("w")).group_by(col("w"))
    >>> list(hours.select(col("w").start, col("n").sum).execute().collect())
    [<Row(datetime.datetime(1970, 1, 1, 0, 0), 3)>, <Row(datetime.datetime(1970, 1, 1, 1, 0), 7)>]
    """

    @classmethod
    def over(cls, size: Expression[Any]) -> TumbleWithSize:
        """Windows of this size, one behind the other."""
        return TumbleWithSize(_GroupParts("TUMBLE", expression_of(size)))


class SlideWithSizeAndSlideOnTime(_OnTime):
    """A sliding window over a time column."""


class SlideWithSizeAndSlide:
    """A sliding window of a size that begins again and again."""

    def __init__(self, parts: _GroupParts) -> None:
        self._parts = parts

    def on(self, time_field: Expression[Any]) -> SlideWithSizeAndSlideOnTime:
        return SlideWithSizeAndSlideOnTime(_on(self._parts, time_field))


class SlideWithSize:
    """A sliding window of a size."""

    def __init__(self, parts: _GroupParts) -> None:
        self._parts = parts

    def every(self, slide: Expression[Any]) -> SlideWithSizeAndSlide:
        """How much later each window begins than the one before."""
        return SlideWithSizeAndSlide(_GroupParts(self._parts.kind, self._parts.size, expression_of(slide)))


class Slide:
    """Windows that overlap: ``Slide.over(lit(10).minutes).every(lit(5).minutes).on(col("ts")).alias("w")``.

    >>> slide = Slide.over(lit(1).hours).every(lit(30).minutes).on(col("at")).alias("w")
    >>> next(clicks.window(slide).group_by(col("w")).select(col("w").start, col("n").sum).execute().collect())
    <Row(datetime.datetime(1969, 12, 31, 23, 30), 1)>
    """

    @classmethod
    def over(cls, size: Expression[Any]) -> SlideWithSize:
        """Windows of this size that overlap."""
        return SlideWithSize(_GroupParts("HOP", expression_of(size)))


class SessionWithGapOnTime(_OnTime):
    """A session window over a time column."""


class SessionWithGap:
    """A session window with a gap."""

    def __init__(self, parts: _GroupParts) -> None:
        self._parts = parts

    def on(self, time_field: Expression[Any]) -> SessionWithGapOnTime:
        return SessionWithGapOnTime(_on(self._parts, time_field))


class Session:
    """Windows that end when nothing comes for some time:
    ``Session.with_gap(lit(10).minutes).on(col("ts")).alias("w")``.

        >>> sessions = clicks.window(Session.with_gap(lit(30).minutes).on(col("at")).alias("w")).group_by(col("w"))
        >>> list(sessions.select(col("w").end, col("n").count).execute().collect())
        [<Row(datetime.datetime(1970, 1, 1, 1, 50), 4)>]
    """

    @classmethod
    def with_gap(cls, gap: Expression[Any]) -> SessionWithGap:
        """Windows that end when nothing came for so long."""
        return SessionWithGap(_GroupParts("SESSION", expression_of(gap)))


class OverWindow:
    """An over window with its alias, for ``Table.over_window``.

    >>> isinstance(Over.order_by(col("at")).preceding(UNBOUNDED_RANGE).alias("w"), OverWindow)
    True
    """

    def __init__(
        self,
        partition: tuple[nodes.Node, ...],
        order: nodes.Node,
        preceding: nodes.Node,
        following: nodes.Node | None,
        name: str,
    ) -> None:
        self.partition = partition
        self.order = order
        self.preceding = preceding
        self.following = following
        self.name = name


class OverWindowPartitionedOrderedPreceding:
    """An over window that says how far it reaches back."""

    def __init__(
        self,
        partition: tuple[nodes.Node, ...],
        order: nodes.Node,
        preceding: nodes.Node,
        following: nodes.Node | None = None,
    ) -> None:
        self._all = (partition, order, preceding, following)

    def following(self, following: Expression[Any]) -> OverWindowPartitionedOrderedPreceding:
        """How far the window reaches ahead; CURRENT_ROW or CURRENT_RANGE unless it is said."""
        return OverWindowPartitionedOrderedPreceding(*self._all[:3], expression_of(following))

    def alias(self, alias: str) -> OverWindow:
        return OverWindow(*self._all, _name(alias))


class OverWindowPartitionedOrdered:
    """An over window with partition and order."""

    def __init__(self, partition: tuple[nodes.Node, ...], order: nodes.Node) -> None:
        self._partition = partition
        self._order = order

    def preceding(self, preceding: Expression[Any]) -> OverWindowPartitionedOrderedPreceding:
        """How far the window reaches back: row_interval(10), lit(5).minutes, UNBOUNDED_RANGE, ..."""
        return OverWindowPartitionedOrderedPreceding(self._partition, self._order, expression_of(preceding))

    def alias(self, alias: str) -> OverWindow:
        return OverWindow(self._partition, self._order, node_of(UNBOUNDED_RANGE), None, _name(alias))


class OverWindowPartitioned:
    """An over window with a partition."""

    def __init__(self, partition: tuple[nodes.Node, ...]) -> None:
        self._partition = partition

    def order_by(self, order_by: Expression[Any]) -> OverWindowPartitionedOrdered:
        """In streaming a time attribute."""
        return OverWindowPartitionedOrdered(self._partition, expression_of(order_by))


class Over:
    """The rows around each row: ``Over.partition_by(col("a")).order_by(col("ts")).preceding(...).alias("w")``.

    >>> window = Over.order_by(col("at")).preceding(UNBOUNDED_RANGE).alias("w")
    >>> list(clicks.over_window(window).select(col("n").max.over(col("w"))).execute().collect())
    [<Row(1)>, <Row(2)>, <Row(3)>, <Row(4)>]
    """

    @classmethod
    def order_by(cls, order_by: Expression[Any]) -> OverWindowPartitionedOrdered:
        """The order of the rows: the time attribute."""
        return OverWindowPartitionedOrdered((), expression_of(order_by))

    @classmethod
    def partition_by(cls, *partition_by: Expression[Any]) -> OverWindowPartitioned:
        """The rows of a window have the same values in these columns."""
        return OverWindowPartitioned(tuple(expressions_of(partition_by)))
