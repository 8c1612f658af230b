"""Key groups of columns against those of single keys."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from millrace.checkpoint.sections import key_groups
from millrace.runtime.exchange.keys import UnstableKeyError, key_group

INTEGERS = st.one_of(st.integers(-(2**63), 2**63 - 1), st.integers(-300, 300), st.integers(0, 63).map(lambda n: 2**n))
ANYTHING = st.one_of(INTEGERS, st.integers(), st.text(), st.floats(), st.booleans(), st.none(), st.binary())
LISTS = st.one_of(
    st.lists(INTEGERS),
    st.lists(st.text()),
    st.lists(st.tuples(INTEGERS, st.text())),
    st.lists(st.tuples(st.tuples(st.text()), ANYTHING)),
    st.lists(ANYTHING),
)


@given(LISTS, st.sampled_from([1, 7, 128, 32768]))
@example([-(2**63), 2**63 - 1, -128, 127, 128, -129, 0, -1, 255, 256, -(2**15), 2**15], 128)
@example([2**63], 128)
@example(["\ud800"], 128)
@example([(), ()], 128)
@example([], 128)
def test_groups_of_a_column_are_those_of_its_keys(keys: list[Any], max_parallelism: int) -> None:
    found = key_groups(keys, max_parallelism)
    assert found.dtype == "int32"
    assert found.tolist() == [key_group(key, max_parallelism) for key in keys]


def test_keys_without_a_group_are_refused() -> None:
    with pytest.raises(UnstableKeyError, match="set has no hash"):
        key_groups([{1}], 128)
