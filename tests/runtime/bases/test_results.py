"""``Results``: what travels in an acknowledgement, and what goes through files."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from millrace.runtime.bases import epoch_protocol
from millrace.runtime.bases.epoch_protocol import Result, ResultFile, Results, parts_of


class Files:
    """Files in memory."""

    def __init__(self) -> None:
        self.written: dict[str, list[bytes]] = {}

    def write(self, parts: Sequence[bytes]) -> ResultFile:
        path = str(len(self.written))
        self.written[path] = list(parts)
        return ResultFile(path, ())

    def read(self, taken: Sequence[Result]) -> list[bytes]:
        return [part for each in taken for part in ([each] if isinstance(each, bytes) else self.written[each.path])]


@given(st.lists(st.lists(st.integers(0, 30), max_size=8), min_size=1, max_size=4))
def test_all_in_their_order_and_little_of_it_in_the_acknowledgement(epochs: list[list[int]]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(epoch_protocol, "INLINE_BYTES", 10)
        patch.setattr(epoch_protocol, "FILE_BYTES", 40)
        files = Files()
        gathered = Results(files)
        for sizes in epochs:
            parts = [bytes([number]) * size for number, size in enumerate(sizes)]
            for part in parts:
                gathered.add(part)
            taken = gathered.take()
            assert files.read(taken) == parts
            inline = [each for each in taken if isinstance(each, bytes)]
            assert sum(map(len, inline)) <= 10
            assert sum(sizes) > 10 or len(inline) == len(parts)
        assert all(sum(map(len, each)) < 40 + 30 for each in files.written.values()), "a task holds no more than that"


def test_without_a_place_that_the_driver_sees_all_is_in_the_acknowledgement(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(epoch_protocol, "INLINE_BYTES", 1)
    monkeypatch.setattr(epoch_protocol, "FILE_BYTES", 2)
    gathered = Results(None)
    for part in (b"abc", b"de", b"f"):
        gathered.add(part)
    assert list(parts_of(gathered.take())) == [b"abc", b"de", b"f"]
    assert gathered.take() == ()
