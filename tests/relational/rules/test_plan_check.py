"""Plans that a rule has spoiled are found, with the rule's name, the node and what does not fit."""

from __future__ import annotations

from dataclasses import replace

import pytest

from millrace.relational import nodes as n
from millrace.relational import types as t
from millrace.relational.functions.registry import Surroundings
from millrace.relational.nodes import Rel
from millrace.relational.rex import AggCall, Literal, Ref
from millrace.relational.rules import optimizer
from millrace.relational.rules.optimizer import PlanError, check_rule, problems_of

INT, TEXT = t.IntType(), t.string()
ROWS = n.Values((n.Field("a", INT), n.Field("b", TEXT)), ())
SOUND = n.Project(ROWS, (Ref(TEXT, 1), Ref(INT, 0)), (n.Field("b", TEXT), n.Field("a", INT)))
WRONG: dict[str, tuple[Rel, str]] = {
    "no such column": (
        replace(SOUND, expressions=(Ref(TEXT, 1), Ref(INT, 2))),
        "Project: column 2 is read, and there are 2",
    ),
    "another type": (
        replace(SOUND, expressions=(Ref(TEXT, 1), Ref(TEXT, 0))),
        r"Project: column 0 \(a\) is read as STRING, and is INT",
    ),
    "too few expressions": (replace(SOUND, expressions=(Ref(TEXT, 1),)), "Project: 1 expressions for 2 columns"),
    "deep below": (
        replace(SOUND, input=n.Filter(ROWS, Ref(t.BooleanType(), 5))),
        "Filter: column 5 is read, and there are 2",
    ),
    "a key": (
        replace(SOUND, input=n.Aggregate(ROWS, (3,), (), (n.Field("a", INT), n.Field("b", TEXT)))),
        "Aggregate: key 3 is none of 2 columns",
    ),
    "of an aggregate": (
        replace(
            SOUND,
            input=n.Aggregate(ROWS, (), (AggCall("MAX", (Ref(INT, 1),), INT), AggCall("MAX", (), TEXT)), ROWS.columns),
        ),
        r"Aggregate: column 1 \(b\) is read as INT, and is STRING",
    ),
    "a name": (
        replace(SOUND, columns=(n.Field("c", TEXT), n.Field("a", INT))),
        r"\['b', 'a'\] have become \['c', 'a'\]",
    ),
    "a type of the result": (
        replace(SOUND, columns=(n.Field("b", TEXT), n.Field("a", t.BigIntType()))),
        "the type of a was INT and has become BIGINT",
    ),
}


@pytest.mark.parametrize("what", WRONG)
def test_what_a_rule_spoils_is_found(what: str) -> None:
    plan, said = WRONG[what]
    with pytest.raises(PlanError, match=f"^rule spoil: .*{said}"):
        check_rule("spoil", SOUND, plan)


def test_a_sound_plan_has_no_problems() -> None:
    check_rule("nothing", SOUND, SOUND)
    joined = n.Join(SOUND, ROWS, "INNER", Literal(True, t.BooleanType()))
    assert list(problems_of(joined)) == []


def test_nulls_do_not_appear() -> None:
    strict = n.Values((n.Field("a", INT.not_null()),), ())
    check_rule("fewer", n.Values((n.Field("a", INT),), ()), strict)
    with pytest.raises(PlanError, match="a was INT NOT NULL and may be NULL now"):
        check_rule("more", strict, n.Values((n.Field("a", INT),), ()))


@pytest.mark.parametrize("rules", ["STREAMING", "BATCH"])
def test_tests_look_after_each_rule(rules: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def spoils(plan: Rel, surroundings: Surroundings) -> Rel:
        return n.Filter(plan, Ref(t.BooleanType(), 9))

    monkeypatch.setattr(optimizer, rules, (*getattr(optimizer, rules), spoils))
    optimise = optimizer.optimise_batch if rules == "BATCH" else optimizer.optimise_streaming
    with pytest.raises(PlanError, match="rule spoils: Filter: column 9 is read, and there are 2"):
        optimise(SOUND, Surroundings(0))
