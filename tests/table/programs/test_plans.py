"""Every program has a streaming plan with the operators and kinds of change that it must have."""

from __future__ import annotations

from collections import Counter

from tests.corpus import corpus
from tests.rings import taken
from tests.table.programs.every import PROGRAMS, TOPICS
from tests.table.programs.program import STREAMING, Program
from tests.table.programs.running import announced, bound, operators_of

from millrace.relational.rules.plan_text import plan_text
from millrace.table import ExplainDetail

STREAMED = [program for program in PROGRAMS if program.runs_in(STREAMING)]
SOME = taken(STREAMED, 3, lambda program: program.name)


def test_names_are_unique() -> None:
    assert [name for name, count in Counter(program.name for program in PROGRAMS).items() if count > 1] == []


def test_there_are_many() -> None:
    assert len(STREAMED) >= 150
    assert all(topic.PROGRAMS for topic in TOPICS)


@corpus("program", STREAMED, 467)
def test_the_plan(program: Program) -> None:
    made = bound(program)
    operators = operators_of(made)
    assert [part for part in program.operators if not any(part in each for each in operators)] == [], operators
    changes = announced(made)
    assert program.changes in (None, changes.text), changes
    assert changes.append_only == (not changes.cause), changes
    for key in changes.keys:
        assert set(key) <= set(range(len(made.plan.schema)))


@corpus("program", SOME, len(SOME))
def test_the_same_text_gives_the_same_plan(program: Program) -> None:
    """Uids are made of the operators, so a program that is planned again finds its state."""
    texts = []
    for made in (bound(program), bound(program)):
        assert [column.name for column in made.optimised.schema] == made.plan.names
        texts.append((plan_text(made.optimised), operators_of(made)))
    assert texts[0] == texts[1]


def test_explain_shows_both() -> None:
    made = bound(next(program for program in PROGRAMS if program.name == "tumble_sums"))
    text = made.environment.explain_sql(made.program.sql, ExplainDetail.CHANGELOG_MODE)
    assert "WindowAggregate(" in text and "changelogMode=[I]" in text
    assert [name for name in operators_of(made) if name not in text] == []
