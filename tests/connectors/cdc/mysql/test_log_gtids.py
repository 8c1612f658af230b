"""Sets of GTIDs against sets of numbers."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.connectors.cdc.mysql.fake_mysql import decoded

from millrace.connectors.cdc.mysql.binlog_position import MariaDbGtids, MySqlGtids

SOURCES = ["3e11fa47-71ca-11e1-9e33-c80aa9429562", "00000000-0000-0000-0000-00000000000a"]
TRANSACTIONS = st.lists(st.tuples(st.sampled_from(SOURCES), st.integers(1, 12)), max_size=30)


@given(TRANSACTIONS)
def test_a_set_has_what_was_added(transactions: list[tuple[str, int]]) -> None:
    found = MySqlGtids()
    for source, number in transactions:
        found.add(source, number)
    wanted = set(transactions)
    assert {(source, number) for source in SOURCES for number in range(1, 14) if found.has(source, number)} == wanted
    again = MySqlGtids.parse(str(found))
    assert again.ranges == found.ranges
    for ranges in found.ranges.values():
        assert all(last + 1 < first for (_, last), (first, _) in itertools.pairwise(ranges))


@given(TRANSACTIONS, TRANSACTIONS)
def test_covering(some: list[tuple[str, int]], others: list[tuple[str, int]]) -> None:
    first, second = MySqlGtids(), MySqlGtids()
    for source, number in some:
        first.add(source, number)
    for source, number in others:
        second.add(source, number)
    assert first.covers(second) == (set(others) <= set(some))


@given(TRANSACTIONS)
def test_bytes(transactions: list[tuple[str, int]]) -> None:
    found = MySqlGtids()
    for source, number in transactions:
        found.add(source, number)
    assert decoded(found.encoded()).ranges == found.ranges


def test_what_is_no_set() -> None:
    for text in ("abc", f"{SOURCES[0]}:tag:1-3", f"{SOURCES[0]}:3-1", f"{SOURCES[0]}:0"):
        with pytest.raises(ValueError, match=r"GTID|range"):
            MySqlGtids.parse(text)


def test_the_last_of_each_domain() -> None:
    found = MariaDbGtids.parse("0-1-10, 5-2-7")
    found.add(0, 3, 11)
    assert str(found) == "0-3-11,5-2-7"
    with pytest.raises(ValueError, match="domain-server-number"):
        MariaDbGtids.parse("0-1")
