from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from millrace.runtime.elements import Chunk
from millrace.runtime.exchange.codec import Packed, decode_columns, encode
from millrace.runtime.tasks.batch_columns import ROUND, Elements

ELEMENT = st.tuples(st.integers(0, 1), st.sampled_from(["a", "b", 1, 1.0, None]), st.none() | st.integers(-3, 3))
"""(input, key, timestamp)"""


def travelled(chunk: Chunk) -> Packed:
    return decode_columns(encode(chunk, []))[0]


def by_key(elements: list[tuple[int, Any, int | None]], with_times: bool) -> list[tuple[Any, int, int | None, int]]:
    """(key, input, timestamp, number) in the order in which an operator would get them."""
    gathered = Elements()
    for number, (input, key, time) in sorted(enumerate(elements), key=lambda element: element[1][0]):
        gathered.add(input, travelled(Chunk([number], [time] if with_times and time is not None else None, [key])))
    found = []
    for chunk, inputs, complete in gathered.by_key():
        assert complete
        times = chunk.timestamps or [None] * len(chunk)
        found += zip(chunk.keys or (), inputs or [0] * len(chunk), times, chunk.values)
    return found


@given(st.lists(ELEMENT, max_size=30), st.booleans())
def test_a_key_is_in_one_piece_and_in_the_order_of_time(
    elements: list[tuple[int, Any, int | None]], with_times: bool
) -> None:
    first_place: dict[Any, int] = {}
    for _, key, _ in sorted(elements, key=lambda element: element[0]):
        first_place.setdefault(key, len(first_place))
    expected = [
        (key, input, time if with_times else None, number) for number, (input, key, time) in enumerate(elements)
    ]
    expected.sort(key=lambda e: (first_place[e[0]], float("-inf") if e[2] is None else e[2], e[1], e[3]))
    assert by_key(elements, with_times) == expected


def test_large_inputs_come_in_rounds_of_whole_keys() -> None:
    gathered = Elements()
    keys = [number % 1_000 for number in range(3 * ROUND)]
    gathered.add(0, travelled(Chunk(keys, None, keys)))
    rounds = [chunk.keys or [] for chunk, _, _ in gathered.by_key()]
    assert len(rounds) == 3 and sum(map(len, rounds)) == len(keys)
    assert sum(len(set(keys)) for keys in rounds) == 1_000, "no key is in two of them"


def test_one_object_stands_for_a_key() -> None:
    gathered = Elements()
    gathered.add(0, travelled(Chunk([1, 2], None, ["key", "".join(["k", "ey"])])))
    [(chunk, _, _)] = gathered.by_key()
    assert chunk.keys is not None and chunk.keys[0] is chunk.keys[1]
