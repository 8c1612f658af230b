"""``Pattern``: what it describes, and what it refuses."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from typing import Any

import pytest
from tests.cep.cases import pattern_of

from millrace.cep import (
    AfterMatchSkipStrategy,
    IterativeCondition,
    MalformedPatternException,
    Pattern,
    QuantifierProperty,
    SimpleCondition,
    WithinType,
)
from millrace.common.time import Duration, Time
from millrace.runtime.cep.compiler import compile_pattern
from millrace.runtime.cep.description import Contiguity, Skip, SkipKind, Times


def begin() -> Pattern:
    return Pattern.begin("a").where(lambda event: event == "a")


def test_description_has_every_call() -> None:
    skip = AfterMatchSkipStrategy.skip_to_last("b").throw_exception_on_miss()
    pattern = (
        Pattern.begin("a", skip)
        .followed_by_any("b")
        .times(2, 4, Time.seconds(3))
        .optional()
        .greedy()
        .consecutive()
        .next(Pattern.begin("c"))
        .times_or_more(2)
        .not_followed_by("d")
        .within(datetime.timedelta(seconds=5))
    )
    found = pattern.describe()
    a, b, group, d = found.steps
    assert found.skip == Skip(SkipKind.SKIP_TO_LAST, "b", True)
    assert (a.name, a.contiguity, a.quantifier.times) == ("a", Contiguity.STRICT, None)
    assert (b.contiguity, b.quantifier.times) == (Contiguity.RELAXED_ANY, Times(2, 4, 3_000))
    assert (b.quantifier.optional, b.quantifier.greedy, b.quantifier.inner) == (True, True, Contiguity.STRICT)
    assert group.group is not None
    assert ([step.name for step in group.group], group.quantifier.times) == (["c"], Times(2, None))
    assert (d.contiguity, d.within) == (Contiguity.NOT_FOLLOW, 5_000)


@pytest.mark.parametrize("span", [Duration.of_seconds(2), Time.seconds(2), datetime.timedelta(seconds=2)])
def test_windows_are_spans_of_time(span: Any) -> None:
    assert begin().within(span).get_window_size() == 2_000
    assert begin().within(span, WithinType.PREVIOUS_AND_CURRENT).describe().steps[0].within_previous == 2_000


def test_times_from_zero_makes_a_pattern_optional() -> None:
    quantifier = begin().times(0, 2).get_quantifier()
    assert quantifier.properties == {QuantifierProperty.TIMES, QuantifierProperty.OPTIONAL}
    assert quantifier.described.times == Times(1, 2)


def test_conditions_may_be_functions_of_one_or_two_parameters_or_objects() -> None:
    class Whole(IterativeCondition):
        def filter(self, event: Any, ctx: Any) -> bool:
            return True

    simple = begin().get_condition()
    assert isinstance(simple, SimpleCondition)
    assert simple.filter("a")
    with_context = Pattern.begin("a").where(lambda event, ctx: event == ctx).get_condition()
    assert with_context is not None
    assert not isinstance(with_context, SimpleCondition)
    assert with_context.filter(1, 1)  # type: ignore[arg-type]
    whole = Whole()
    assert Pattern.begin("a").where(whole).get_condition() is whole


def test_or_takes_in_all_before_it() -> None:
    condition = Pattern.begin("a").where(lambda e: e > 1).where(lambda e: e > 2).or_(lambda e: e == 0).get_condition()
    assert condition is not None
    assert [condition.filter(event, None) for event in range(4)] == [True, False, False, True]  # type: ignore[arg-type]


REFUSED: dict[str, tuple[Callable[[], Any], str]] = {
    "greedy single": (lambda: begin().greedy(), "Pattern 'a': Option not applicable to singleton quantifier: greedy()"),
    "greedy combinations": (
        lambda: begin().one_or_more().allow_combinations().greedy(),
        "Pattern 'a': Option not applicable to a pattern with allow_combinations()",
    ),
    "optional after greedy": (
        lambda: begin().one_or_more().greedy().next("b").optional(),
        "Pattern 'b': Optional pattern cannot be preceded by greedy pattern 'a'",
    ),
    "optional twice": (lambda: begin().optional().optional(), "Pattern 'a': Optional already applied"),
    "optional not": (lambda: begin().not_next("b").optional(), "Pattern 'b': NOT pattern cannot be optional"),
    "loop of not": (lambda: begin().not_next("b").one_or_more(), "Pattern 'b': Option not applicable to NOT pattern"),
    "two quantifiers": (
        lambda: begin().one_or_more().times(2),
        "Pattern 'a': Already applied quantifier to this Pattern: LOOPING",
    ),
    "not after optional": (
        lambda: begin().optional().not_followed_by("b"),
        "Pattern 'a': not_followed_by('b') cannot come after an optional pattern",
    ),
    "times of zero": (lambda: begin().times(0), "You should give a positive number greater than 0, not 0"),
    "times backwards": (lambda: begin().times(3, 2), "times(3, 2): the second number should be at least 3"),
    "consecutive single": (lambda: begin().consecutive(), "Consecutive not applicable to a single pattern"),
    "both": (
        lambda: begin().one_or_more().consecutive().allow_combinations(),
        "You can apply either combinations or consecutive, not both",
    ),
    "until single": (lambda: begin().until(bool), "The until condition is only applicable to looping states"),
    "until twice": (lambda: begin().one_or_more().until(bool).until(bool), "Only one until condition can be applied"),
    "negative window": (lambda: begin().within(Time(-1)), "a window of -1 ms is negative"),
    "group where": (lambda: Pattern.begin(begin()).where(bool), "group of pattern 'a': GroupPattern does not"),
    "group greedy": (lambda: Pattern.begin(begin()).one_or_more().greedy(), "Option not applicable to group pattern"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_call_is_refused(name: str) -> None:
    make, message = REFUSED[name]
    with pytest.raises(MalformedPatternException) as refused:
        make()
    assert message in str(refused.value)


WHOLE: dict[str, tuple[list[list[Any]], list[Any] | None, str]] = {
    "names": ([["begin", "a"], ["next", "a"]], None, "Duplicate pattern name: a"),
    "names in groups": ([["begin", "a"], ["next", [["begin", "a"]]]], None, "Duplicate pattern name: a"),
    "skip to nothing": ([["begin", "a"]], ["skipToFirst", "b"], "can not be found in the given Pattern: there is no"),
    "skip into a group": ([["begin", [["begin", "a"]]]], ["skipToLast", "a"], "a is inside a group"),
    "not at the end": ([["begin", "a"], ["notFollowedBy", "b"]], None, "b needs within()"),
    "window of a loop": (
        [["begin", "a"], ["next", "b"], ["times", 2, {"ms": 3000}], ["within", 2000]],
        None,
        "previous and the current event of b (3000 ms) is larger",
    ),
    "group that may be empty before not": (
        [["begin", [["begin", "a"], ["optional"]]], ["notFollowedBy", "n"], ["next", "b"]],
        None,
        "The NOT pattern n may come first",
    ),
    "loop over nothing": (
        [["begin", "a"], ["next", [["begin", "b"], ["optional"]]], ["oneOrMore"]],
        None,
        "A group that repeats must take an event in each round",
    ),
}


@pytest.mark.parametrize("name", WHOLE)
def test_whole_pattern_is_refused(name: str) -> None:
    calls, skip, message = WHOLE[name]
    with pytest.raises(MalformedPatternException) as refused:
        compile_pattern(pattern_of(calls, skip).describe())
    assert message in str(refused.value)


def test_window_of_nothing_is_allowed() -> None:
    compile_pattern(begin().next("b").within(Time(0)).describe())


def test_wrong_types_are_named() -> None:
    with pytest.raises(TypeError, match=r"where\(\) of pattern 'a': a condition is a function"):
        begin().where(3)
    with pytest.raises(TypeError, match="is a class; give an object of it"):
        begin().where(SimpleCondition)
    with pytest.raises(TypeError, match="the name of a pattern is a text, not 3"):
        begin().next(3)  # type: ignore[call-overload]
    with pytest.raises(TypeError, match="skips to no pattern"):
        AfterMatchSkipStrategy.skip_to_next().throw_exception_on_miss()


def test_a_group_has_the_pattern_in_it() -> None:
    inner = begin().next("b")
    assert Pattern.begin(inner).times(2).get_raw_pattern() is inner
