"""The timelines of a program, to be looked at as text and as a picture."""

from __future__ import annotations

from dataclasses import dataclass

from millrace.testing.timelines.events import OperatorTimeline


@dataclass(frozen=True)
class Timeline:
    """What happened in the operators of a program that have windows or timers.

        >>> windows = env.from_collection([1, 2, 3]).key_by(lambda n: "all").count_window(2)
        >>> seen = timeline(windows.reduce(lambda x, y: x + y))
        >>> len(seen.operators), isinstance(seen.to_text(), str)
        (1, True)

    :ivar operators: one for each subtask, in the order of the program.
    :ivar complete: whether the program was run to its end; False: it had more elements than are recorded.
    """

    operators: tuple[OperatorTimeline, ...]
    complete: bool

    def to_text(self, width: int = 100) -> str:
        """For terminals.

        :param width: of a line, in characters; 60 at least.
        """
        from millrace.testing.timelines.text import text_of

        return "\n\n".join(text_of(operator, width) for operator in self.operators)

    def to_svg(self, alone: bool = False) -> str:
        """A picture: event time to the right, the order of arrival downwards.

        :param alone: whether it is to be a file of its own; then it has colours for light and dark.
        """
        from millrace.testing.timelines.picture import picture_of

        return picture_of(self.operators).svg(alone)

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        return self.to_svg()

    def __str__(self) -> str:
        return self.to_text()
