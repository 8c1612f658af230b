"""What Flink's gateway was asked (``tests/flink/rest``), asked of ours: each difference has its reason."""

from __future__ import annotations

from tests.cluster.gateway.differences import compared
from tests.flink.rest.known import explained
from tests.flink.rest.page import PAGE


def test_answers_are_those_of_flink() -> None:
    known, others = explained(compared())
    assert not others, "\n".join(map(str, others))
    told = PAGE.read_text("utf-8")
    untold = {each.reason for each, found in known.items() if found and f"| {each.reason} |" not in told}
    assert not untold, "make rest RECORD=1 writes docs/rest-differences.md anew"
