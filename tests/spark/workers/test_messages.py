"""Frames between owners: whole again, however the bytes come."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from millrace.runtime.exchange.exchange import Packet
from millrace.runtime.exchange.flow_writer import Credit, SenderMarks
from millrace.spark.workers.flow_messages import Decoder, Sent, encoded

SMALL, LARGE = st.integers(0, 2**31 - 1), st.integers(0, 2**63 - 1)


def several(size: int) -> st.SearchStrategy[tuple[int, ...]]:
    return st.tuples(*[SMALL] * size)


FRAMES = st.lists(
    st.one_of(
        st.builds(Packet, SMALL, SMALL, SMALL, SMALL, st.binary(max_size=40), LARGE),
        st.integers(0, 5).flatmap(lambda n: st.builds(SenderMarks, SMALL, SMALL, LARGE, several(n), several(n))),
        st.builds(Credit, SMALL, SMALL, SMALL, LARGE, SMALL),
    ),
    max_size=8,
)


@given(frames=FRAMES, cuts=st.lists(st.integers(0, 400), max_size=6))
def test_frames_are_whole_however_their_bytes_come(frames: list[Sent], cuts: list[int]) -> None:
    content, decoder, found = encoded(frames), Decoder(), []
    places = [0, *sorted(min(cut, len(content)) for cut in cuts), len(content)]
    for start, end in pairwise(places):
        found += decoder.add(content[start:end])
    assert found == frames
    assert list(map(type, found)) == list(map(type, frames))


def test_what_is_no_frame_is_an_error() -> None:
    with pytest.raises(ValueError, match=r"unknown kind \(7\)"):
        list(Decoder().add(b"\x07" + encoded([Credit(1, 2, 3, 4, 5)])[1:]))
