"""What a job knows about its states, report by report."""

from __future__ import annotations

from millrace.common import Types
from millrace.runtime.state.info import KEYED, OPERATOR, StateInfo, with_news

LONG = Types.LONG()
ASKED = StateInfo("a", "reducing", KEYED, LONG)
SEEN = StateInfo("a", "value", KEYED, None)


def test_what_the_function_said_counts_more_than_what_is_there() -> None:
    assert with_news((), [SEEN]) == (SEEN,)
    assert with_news([SEEN], [ASKED]) == (ASKED,)
    assert with_news([ASKED], [SEEN]) == (ASKED,)


def test_a_report_leaves_out_what_its_copy_has_not_seen() -> None:
    other = StateInfo("b", "windows", KEYED, None)
    assert with_news([ASKED], [other]) == (ASKED, other)
    shared = StateInfo("a", "UNION", OPERATOR, LONG)
    assert with_news([ASKED], [shared]) == (ASKED, shared)


def test_the_last_word_of_the_function_counts() -> None:
    now = StateInfo("a", "reducing", KEYED, Types.DOUBLE())
    assert with_news([ASKED], [now]) == (now,)
