"""Windows: as columns, and as groups."""

from __future__ import annotations

from millrace.relational.fields import Schema
from millrace.relational.nodes.base import Single
from millrace.relational.rex import AggCall
from millrace.relational.rex_text import agg_text, named, sets_text
from millrace.util.record import Record


class WindowSpec(Record):
    """TUMBLE, HOP, CUMULATE or SESSION. Times in ms. ROWS for windows of the Table API over so many rows."""

    kind: str
    size: int
    """of a tumbling or hopping window; the largest of a cumulating one; the gap of a session"""
    slide: int | None = None
    """of a hopping window; the step of a cumulating one"""
    offset: int = 0

    @property
    def text(self) -> str:
        """As EXPLAIN shows it."""
        unit = "" if self.kind == "ROWS" else " ms"
        parts = [f"{self.size}{unit}"]
        if self.slide is not None:
            parts.append(f"slide {self.slide}{unit}")
        if self.offset:
            parts.append(f"offset {self.offset} ms")
        return f"{self.kind}({', '.join(parts)})"


class WindowTable(Single):
    """A windowing table function: each row once per window that it is in, with the columns window_start, window_end
    (TIMESTAMP(3)) and window_time, a time attribute of the kind and type of the time column."""

    window: WindowSpec
    time: int
    """the column with the time attribute"""
    partition: tuple[int, ...] = ()
    """PARTITION BY of a session"""
    columns: Schema = ()

    def details(self) -> list[str]:
        source = self.input.schema
        parts = [self.window.text, f"time={source[self.time].name}"]
        return parts + ([f"partition={named(self.partition, source)}"] if self.partition else [])


class Emission(Record):
    """When a group window gives its rows, besides its end: ``table.exec.emit.*``. Times in ms.

    >>> Emission(early=1000, late=0, lateness=5000).text
    'early every 1000 ms, late with each change until 5000 ms'
    """

    early: int | None = None
    """how long changes before the end wait; 0: not at all; None: for the end"""
    late: int | None = None
    """how long changes behind the end wait; None: there are none, late rows are dropped"""
    lateness: int = 0
    """how late a row may be"""

    @property
    def text(self) -> str:
        """As EXPLAIN shows it."""
        early = [] if self.early is None else [f"early {_waiting(self.early)}"]
        late = [] if self.late is None else [f"late {_waiting(self.late)} until {self.lateness} ms"]
        return ", ".join(early + late)


def _waiting(delay: int) -> str:
    return f"every {delay} ms" if delay else "with each change"


class WindowAggregate(Single):
    """Aggregates per window and key: of ``GROUP BY TUMBLE(ts, ...), k``, or of GROUP BY window_start, window_end, k
    over a ``WindowTable`` (a rule finds those; ``attached`` if the input has window_start and window_end already).

    The result: the keys, the aggregates, then ``properties``.
    """

    window: WindowSpec
    time: int
    """the column with the time attribute; of an attached window the column of window_end"""
    keys: tuple[int, ...]
    aggregates: tuple[AggCall, ...]
    properties: tuple[str, ...]
    """some of START, END, ROWTIME, PROCTIME"""
    columns: Schema
    attached: tuple[int, int] | None = None
    """the columns of window_start and window_end"""
    sets: tuple[tuple[int, ...], ...] | None = None
    emission: Emission | None = None
    """None: rows are given at the end of their window, and never change"""

    def details(self) -> list[str]:
        source = self.input.schema
        parts = [self.window.text, f"time={source[self.time].name}"]
        if self.emission is not None:
            parts.append(f"emit=[{self.emission.text}]")
        if self.keys:
            parts.append(f"keys={named(self.keys, source)}")
        if self.sets is not None:
            parts.append(sets_text(self.keys, self.sets, source))
        if self.attached is not None:
            parts.append(f"attached={named(self.attached, source)}")
        parts += [agg_text(call, source) for call in self.aggregates]
        return parts + ([f"properties=[{', '.join(self.properties)}]"] if self.properties else [])
