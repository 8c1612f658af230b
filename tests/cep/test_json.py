"""Patterns as JSON: the form, there and back, and what is refused."""

from __future__ import annotations

import datetime
import json
import random
from collections.abc import Iterator
from typing import Any

import pytest
from tests.cep.cases import pattern_of
from tests.flink.cep import kept

from millrace.cep import AfterMatchSkipStrategy, IterativeCondition, MalformedPatternException, Pattern
from millrace.cep.json_conditions import as_sql
from millrace.common.time import Duration
from millrace.runtime.cep.automaton import conditions_of
from millrace.runtime.cep.description import fingerprint

DOCUMENTED = {
    "name": "end",
    "quantifier": {
        "consumingStrategy": "SKIP_TILL_NEXT",
        "properties": ["SINGLE"],
        "times": None,
        "untilCondition": None,
    },
    "condition": None,
    "nodes": [
        {
            "name": "end",
            "quantifier": {
                "consumingStrategy": "SKIP_TILL_NEXT",
                "properties": ["SINGLE"],
                "times": None,
                "untilCondition": None,
            },
            "condition": {"className": "shop.EndCondition", "type": "CLASS"},
            "type": "ATOMIC",
        },
        {
            "name": "start",
            "quantifier": {
                "consumingStrategy": "SKIP_TILL_NEXT",
                "properties": ["TIMES"],
                "times": {"from": 3, "to": 3, "windowTime": None},
                "untilCondition": None,
            },
            "condition": {"expression": "action == 0 && price > 5", "type": "AVIATOR"},
            "type": "ATOMIC",
        },
    ],
    "edges": [{"source": "start", "target": "end", "type": "SKIP_TILL_NEXT"}],
    "window": {"type": "FIRST_AND_LAST", "time": {"unit": "MINUTES", "size": 10}},
    "afterMatchStrategy": {"type": "SKIP_PAST_LAST_EVENT", "patternName": None},
    "type": "COMPOSITE",
    "version": 1,
}
"""as the documents of dynamic CEP show it"""


class End(IterativeCondition):
    """A condition that a text names."""

    def __init__(self, *args: Any) -> None:
        self.args = args

    def filter(self, event: Any, ctx: Any) -> bool:
        return bool(event == "end")


def test_the_form_of_dynamic_cep_is_read() -> None:
    pattern = Pattern.from_json(json.dumps(DOCUMENTED), {"shop.EndCondition": End})
    wanted = (
        Pattern.begin("start", AfterMatchSkipStrategy.skip_past_last_event())
        .where("`action` = 0 AND `price` > 5")
        .times(3)
        .followed_by("end")
        .where(End())
        .within(Duration.of_minutes(10))
    )
    assert fingerprint(pattern.describe()) == fingerprint(wanted.describe())
    assert pattern.describe().skip == wanted.describe().skip
    start, end = pattern.describe().steps
    assert start.condition.given == "`action` = 0 AND `price` > 5"  # type: ignore[union-attr]
    assert isinstance(end.condition, End)


def named_conditions(pattern: Pattern) -> dict[str, Any]:
    """Every condition of a pattern, under a name."""
    leaves = conditions_of(pattern.describe().steps)
    inner = [getattr(each, "function", getattr(each, "subtype", each)) for each in leaves]
    return {f"c{number}": each for number, each in enumerate(inner)}


def test_every_recorded_pattern_goes_there_and_back() -> None:
    cases = [case for file in ("plain", "automaton", "facts") for case in kept.cases(file)]
    for case in random.Random(17).sample(cases, 120):
        if case["answer"].get("refused") == "build":
            continue
        pattern = pattern_of(case["pattern"], case.get("skip"))
        named = named_conditions(pattern)
        text = pattern.to_json(named)
        back = Pattern.from_json(text, named)
        assert fingerprint(back.describe()) == fingerprint(pattern.describe()), case["pattern"]
        assert back.describe().skip == pattern.describe().skip
        assert back.to_json(named) == text
        leaves = [conditions_of(each.describe().steps) for each in (pattern, back)]
        assert [getattr(each, "function", each) for each in leaves[0]] == [
            getattr(each, "function", each) for each in leaves[1]
        ]


def test_arguments_of_a_condition_are_kept() -> None:
    named = {"End": End}
    pattern = Pattern.begin("a").where(End("x", 3))
    text = pattern.to_json(named)
    assert json.loads(text)["nodes"][0]["condition"] == {"type": "CLASS", "className": "End", "args": ["x", 3]}
    assert Pattern.from_json(text, named).get_condition().args == ("x", 3)  # type: ignore[union-attr]


def test_expressions_are_written_as_sql() -> None:
    from millrace.table.expressions import col

    pattern = Pattern.begin("a").where(col("price") > 10).where("name LIKE 'a%'")
    condition = json.loads(pattern.to_json())["nodes"][0]["condition"]
    assert [each["type"] for each in condition["nestedConditions"]] == ["SQL", "SQL"]
    assert "10" in condition["nestedConditions"][0]["expression"]
    assert condition["nestedConditions"][1]["expression"] == "name LIKE 'a%'"


def test_text_of_expressions_means_the_same() -> None:
    """Without brackets, as they are made, it would not."""
    from millrace.cep.expressions import sql_of
    from millrace.table.expressions import col

    assert sql_of((col("a") + 1) * 2 == -3) == "((a + 1) * 2) = (- 3)"
    assert sql_of((col("a") == 1) & ((col("b") > 2.5) | col("c").is_null)) == "(a = 1) AND ((b > 2.5E0) OR (c IS NULL))"
    assert sql_of(col("x").upper_case == "A") == "UPPER(x) = 'A'"
    with pytest.raises(ValueError, match="has no text in SQL"):
        sql_of(col("x") == datetime.timedelta(1))


def test_a_function_without_a_name_is_refused() -> None:
    with pytest.raises(MalformedPatternException, match=r"where\(\) of pattern 'a'.*give it a name"):
        Pattern.begin("a").where(lambda event: True).to_json()


def changed(*path: Any, value: Any) -> Any:
    copy = json.loads(json.dumps(DOCUMENTED))
    here = copy
    for each in path[:-1]:
        here = here[each]
    here[path[-1]] = value
    return copy


def refusals() -> Iterator[tuple[Any, str]]:
    yield "{", "no JSON"
    yield '{"nodes": NaN}', "NaN is not a number"
    yield '{"nodes": [], "nodes": []}', "'nodes' comes twice"
    yield "[" * 100_000, "nested too deeply|no JSON"
    yield 3, "an object is needed"
    yield changed("version", value=2), "the version 2"
    yield changed("extra", value=2), "unknown fields extra"
    yield changed("nodes", value=[]) | {"edges": []}, "one node must come first"
    yield changed("nodes", 0, "name", value="start"), "two nodes have the name 'start'"
    yield changed("edges", value=[]), "one node must come first"
    yield changed("edges", 0, "target", value="nowhere"), "no such node"
    yield changed("edges", 0, "type", value="SOON"), "'SOON' is not known"
    yield changed("nodes", 0, "condition", value={"type": "GROOVY", "expression": "x"}), "type 'GROOVY'"
    yield changed("nodes", 0, "condition", value={"type": "SQL"}), "needs a text as 'expression'"
    yield changed("nodes", 0, "condition", "className", value="os.system"), "no condition with the name 'os.system'"
    yield changed("nodes", 0, "condition", "args", value=["x"] * 3) | {"window": {"time": 3}}, "the time in"
    yield changed("nodes", 0, "quantifier", "properties", value=["FOREVER"]), "unknown properties"
    yield changed("nodes", 1, "quantifier", "times", value=None), "TIMES without times"
    yield changed("nodes", 1, "quantifier", "times", "from", value="3"), "a number of times is an int"
    yield changed("nodes", 1, "condition", "expression", value="f(x) == 1"), "the function f"
    yield changed("window", "time", "unit", value="YEARS"), "unit of a time"
    yield changed("window", "time", "size", value=-1), "size of a time"
    yield changed("afterMatchStrategy", "type", value="SKIP_TO_LAST"), "SKIP_TO_LAST with the patternName None"


@pytest.mark.parametrize(("given", "message"), list(refusals()))
def test_what_is_wrong_is_named(given: Any, message: str) -> None:
    with pytest.raises(MalformedPatternException, match=message):
        Pattern.from_json(given, {"shop.EndCondition": End})


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        ("price > 10", "`price` > 10"),
        ("a.b == 'it' || !(c != nil)", "`a`.`b` = 'it' OR NOT ( `c` IS NOT NULL )"),
        ('name == "x\'y" && ok == true', "`name` = 'x''y' AND `ok` = TRUE"),
        ("-x + 2.5 * y % 3 <= 7", "- `x` + 2.5 * `y` % 3 <= 7"),
    ],
)
def test_aviator_is_read_as_sql(given: str, wanted: str) -> None:
    assert as_sql(given) == wanted


@pytest.mark.parametrize("given", ["a =~ /x/", "string.length(a) > 3", "a ? b : c", "nil", "a = 1", "seq[0]", "'a\\n'"])
def test_more_of_aviator_is_refused(given: str) -> None:
    with pytest.raises(ValueError, match="is not known here"):
        as_sql(given)
