"""What a committer leaves for later waits with what is new, in checkpoints too."""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

from millrace.common.sink import Committer, Sink, WriterInitContext
from millrace.runtime.commits import Commits
from millrace.runtime.operators.sink import SinkOperator


class Even(Committer[int]):
    """Even numbers can be committed."""

    def __init__(self) -> None:
        self.calls: list[tuple[int, ...]] = []

    def commit(self, committables: Sequence[int]) -> list[int]:
        self.calls.append(tuple(committables))
        return [each for each in committables if each % 2]


class Numbers(Sink[Any]):
    def __init__(self) -> None:
        self.committer = Even()

    def create_writer(self, context: WriterInitContext) -> Any:
        raise NotImplementedError

    def create_committer(self) -> Even:
        return self.committer


def commits(sink: Numbers) -> Commits:
    info = SimpleNamespace(id=1, uid="sink", factory=SinkOperator, args=(sink,), name="sink", origin="")
    return Commits(SimpleNamespace(operators=[info]))  # type: ignore[arg-type]


def ack(*committables: int) -> Any:
    report = SimpleNamespace(operator=1, subtask=0, committables=committables, writer_states=())
    return SimpleNamespace(reports=[report])


def test_what_waits_comes_again() -> None:
    sink = Numbers()
    made = commits(sink)
    made.prepared([ack(1, 2)])
    made.commit()
    assert made.pending() == {"sink": (1,)}
    made.prepared([ack(3, 4)])
    made.commit()
    assert sink.committer.calls == [(1, 2), (1, 3, 4)]
    assert made.pending() == {"sink": (1, 3)}
    again = Numbers()
    later = commits(again)
    later.restore(made.pending(), {})
    later.commit()
    assert again.committer.calls == [(1, 3)] and later.pending() == {"sink": (1, 3)}
