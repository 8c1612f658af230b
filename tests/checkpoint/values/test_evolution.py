"""Values that were stored by another version of the program's classes."""

from __future__ import annotations

import json
import sys
import types
from collections.abc import Callable, Iterator
from typing import Any

import cloudpickle
import pytest

from millrace.checkpoint.classes import EvolutionError, find_class
from millrace.checkpoint.columns import check, check_keys, classes_of, decode, encode

MODULE = "a_module_that_changes"
HEAD = """
from __future__ import annotations
import enum
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple
"""

Program = Callable[[str], types.ModuleType]


@pytest.fixture
def program() -> Iterator[Program]:
    """Gives the module a new source, as editing the program does."""

    def write(source: str) -> types.ModuleType:
        module = sys.modules[MODULE] = types.ModuleType(MODULE)
        exec(HEAD + source, module.__dict__)
        return module

    yield write
    sys.modules.pop(MODULE, None)


class Saved:
    """A column of a savepoint."""

    def __init__(self, values: list[Any]) -> None:
        self._array, description = encode(values)
        self.description = json.loads(json.dumps(description))

    @property
    def problems(self) -> list[str]:
        return [str(problem) for problem in check(self.description)]

    def read(self, known: dict[str, type] | None = None) -> list[Any]:
        return decode(self._array, self.description, known or {})


WRAPPED = [
    pytest.param(lambda value: value, lambda value: value, id="columns"),
    pytest.param(lambda value: [value, {1}], lambda value: value[0], id="pickled"),
    pytest.param(lambda value: [value, [value]], lambda value: value[1][0], id="twice"),
]
Wrap = Callable[[Any], Any]

OLD = "@dataclass\nclass Order:\n    id: int\n    note: str = ''\n    old: Any = None\n"


@pytest.mark.parametrize(("wrap", "unwrap"), WRAPPED)
@pytest.mark.parametrize("options", ["", "(frozen=True)", "(slots=True)", "(frozen=True, slots=True)"])
def test_fields_may_come_and_go_and_change_places(program: Program, wrap: Wrap, unwrap: Wrap, options: str) -> None:
    old = program(OLD.replace("@dataclass", f"@dataclass{options}"))
    saved = Saved([wrap(old.Order(1, "x", 5)), wrap(old.Order(2))])
    new = program(
        f"@dataclass{options}\nclass Order:\n    note: str\n    tags: list[str] = field(default_factory=list)\n"
        f"    state: str = 'open'\n    id: int = 0\n"
    )
    assert saved.problems == []
    first, second = map(unwrap, saved.read())
    assert [first, second] == [new.Order("x", id=1), new.Order("", id=2)]
    assert first.tags is not second.tags
    assert not hasattr(first, "old")


@pytest.mark.parametrize(("wrap", "unwrap"), WRAPPED)
def test_fields_of_named_tuples_go_by_name_too(program: Program, wrap: Wrap, unwrap: Wrap) -> None:
    old = program("class Pair(NamedTuple):\n    left: int\n    right: str = ''\n    old: int = 0")
    saved = Saved([wrap(old.Pair(1, "r"))])
    new = program("class Pair(NamedTuple):\n    right: str\n    left: int\n    more: tuple = (1,)")
    assert saved.problems == []
    (pair,) = map(unwrap, saved.read())
    assert type(pair) is new.Pair
    assert pair == ("r", 1, (1,))


@pytest.mark.parametrize(("wrap", "unwrap"), WRAPPED)
def test_a_new_field_needs_a_default(program: Program, wrap: Wrap, unwrap: Wrap) -> None:
    saved = Saved([wrap(program(OLD).Order(1))])
    program(OLD.replace("note: str = ''", "customer: str"))
    expected = (
        f"class {MODULE}.Order, field 'customer': it is new and has no default; give it a default, or raise "
        f"state_version and set it in upgrade_state()"
    )
    assert saved.problems == [expected]
    with pytest.raises(EvolutionError) as raised:
        saved.read()
    assert str(raised.value) == expected


@pytest.mark.parametrize(("wrap", "unwrap"), WRAPPED)
def test_a_class_that_is_gone(program: Program, wrap: Wrap, unwrap: Wrap) -> None:
    saved = Saved([wrap(program(OLD).Order(1))])
    program("")
    expected = (
        f"class {MODULE}.Order: stored values need it, but module {MODULE} has no class Order; bring it back under "
        f"this name (an alias of another class will do)"
    )
    assert saved.problems == [expected]
    with pytest.raises(EvolutionError, match="has no class Order"):
        saved.read()
    new = program(f"{OLD.replace('Order', 'Purchase')}\nOrder = Purchase")
    assert saved.problems == []
    assert unwrap(saved.read()[0]) == new.Purchase(1)


def test_a_module_that_is_gone(program: Program) -> None:
    saved = Saved([program(OLD).Order(1)])
    del sys.modules[MODULE]
    (problem,) = saved.problems
    assert f"module {MODULE} can't be imported (No module named '{MODULE}')" in problem


@pytest.mark.parametrize(("wrap", "unwrap"), WRAPPED)
def test_a_class_of_another_kind(program: Program, wrap: Wrap, unwrap: Wrap) -> None:
    saved = Saved([wrap(program(OLD).Order(1))])
    program("class Order(NamedTuple):\n    id: int")
    assert saved.problems == [
        f"class {MODULE}.Order: it was a dataclass when the state was stored and is a named tuple now; make it a "
        f"dataclass again, or give the new class another name"
    ]


@pytest.mark.parametrize(
    ("before", "now", "problem"),
    [
        ("int", "str", "LONG can't become STRING"),
        ("list[int]", "list[str]", "element: LONG can't become STRING"),
        ("tuple[int, str]", "tuple[int]", "a tuple of 2 can't become one of 1; use a Row with names"),
        ("int", "float", None),
        ("int", "Any", None),
        ("Any", "str", None),
        ("int", "int | str", None),
        ("Unknown", "str", None),
    ],
)
def test_the_type_of_a_field_may_only_become_wider(
    program: Program, before: str, now: str, problem: str | None
) -> None:
    saved = Saved([program(f"@dataclass\nclass A:\n    a: {before}").A(1)])
    program(f"@dataclass\nclass A:\n    a: {now}")
    fix = "declare the old type, or raise state_version and convert the value in upgrade_state()"
    expected = [f"class {MODULE}.A, field 'a': its type has changed: {problem}; {fix}"]
    assert saved.problems == ([] if problem is None else expected)


def test_types_that_were_never_true_do_not_matter(program: Program) -> None:
    source = "@dataclass\nclass A:\n    a: int"
    saved = Saved([program(source).A("text")])
    new = program(source)
    assert saved.problems == []
    assert saved.read() == [new.A("text")]


UPGRADED = """
@dataclass
class Order:
    cents: int
    extra: list = field(default_factory=list)
    state_version: ClassVar[int] = 2

    @classmethod
    def upgrade_state(cls, version, fields):
        assert version == 0, version
        return {'cents': round(fields['price'] * 100), 'gone': 1}
"""


@pytest.mark.parametrize(("wrap", "unwrap"), WRAPPED)
def test_another_version_goes_through_upgrade_state(program: Program, wrap: Wrap, unwrap: Wrap) -> None:
    saved = Saved([wrap(program("@dataclass\nclass Order:\n    price: float").Order(1.5))])
    new = program(UPGRADED)
    assert saved.problems == []
    (order,) = map(unwrap, saved.read())
    assert order == new.Order(150)
    assert not hasattr(order, "gone")
    again = Saved([wrap(order)])
    assert unwrap(again.read()[0]) == order


@pytest.mark.parametrize(("wrap", "unwrap"), WRAPPED)
def test_upgrade_state_that_fails(program: Program, wrap: Wrap, unwrap: Wrap) -> None:
    saved = Saved([wrap(program("@dataclass\nclass Order:\n    cost: float").Order(1.5))])
    program(UPGRADED)
    with pytest.raises(EvolutionError) as raised:
        saved.read()
    assert str(raised.value) == (
        f"class {MODULE}.Order: upgrade_state(0, {{'cost': 1.5}}) failed: KeyError: 'price'; correct it"
    )


@pytest.mark.parametrize(("wrap", "unwrap"), WRAPPED)
@pytest.mark.parametrize(("before", "now"), [(0, 1), (2, 1), (2, 0)])
def test_another_version_needs_upgrade_state(program: Program, wrap: Wrap, unwrap: Wrap, before: int, now: int) -> None:
    versions = {0: "", 1: "    state_version: ClassVar[int] = 1\n", 2: "    state_version: ClassVar[int] = 2\n"}
    saved = Saved([wrap(program(OLD + versions[before]).Order(1))])
    program(OLD + versions[now])
    assert saved.problems == [
        f"class {MODULE}.Order: the state was stored in version {before}, its state_version is {now}; give it a class "
        f"method upgrade_state(version, fields)"
    ]


PLAIN = """
class Account:
    def __init__(self, amount):
        self.amount = amount
"""
VERSIONED = """
class Account:
    state_version = 1

    def __init__(self, amount):
        self.cents = amount * 100

    @classmethod
    def upgrade_state(cls, version, fields):
        return {'cents': fields.get('amount', 0) * 100}
"""


def test_ordinary_objects_are_upgraded_by_their_attributes(program: Program) -> None:
    old = program(PLAIN)
    nothing = old.Account(1)
    del nothing.amount
    saved = Saved([old.Account(3), {"a": [old.Account(4)], "b": nothing}])
    program(VERSIONED)
    assert saved.problems == []
    first, second = saved.read()
    assert (first.cents, second["a"][0].cents, second["b"].cents) == (300, 400, 0)
    assert not hasattr(first, "amount")


def test_objects_with_an_own_form_are_upgraded_by_that(program: Program) -> None:
    own = "    def __getstate__(self): return [self.amount]\n    def __setstate__(self, s): self.amount = s[0]\n"
    saved = Saved([program(PLAIN + own).Account(3)])
    program(
        PLAIN
        + own
        + "    state_version = 1\n    @classmethod\n    def upgrade_state(cls, version, state): return [state[0] + 1]\n"
    )
    assert saved.read()[0].amount == 4


def test_objects_without_state_cannot_be_upgraded(program: Program) -> None:
    own = "    def __reduce__(self): return Account, (self.amount,)\n"
    saved = Saved([program(PLAIN + own).Account(3)])
    new = program(PLAIN + own)
    assert (type(saved.read()[0]), saved.read()[0].amount) == (new.Account, 3)
    program(VERSIONED + own)
    assert saved.problems == [
        f"class {MODULE}.Account: upgrade_state can't change version 0: its __reduce__ stores no state; let the "
        f"function that __reduce__ names read both versions"
    ]


def test_objects_that_contain_themselves_evolve(program: Program) -> None:
    old = program("@dataclass(eq=False)\nclass Node:\n    next: Any = None\n    old: int = 0")
    node = old.Node()
    node.next = [node]
    saved = Saved([node])
    new = program("@dataclass(eq=False)\nclass Node:\n    name: str = 'n'\n    next: Any = None")
    (back,) = saved.read()
    assert type(back) is new.Node
    assert back.next[0] is back
    assert back.name == "n"


def test_attributes_beside_the_fields_stay(program: Program) -> None:
    order = program(OLD).Order(1)
    order.cached = 7
    saved = Saved([order])
    program(OLD.replace("old: Any", "more: Any"))
    (back,) = saved.read()
    assert (back.cached, back.more) == (7, None)
    assert not hasattr(back, "old")


def test_members_of_enums_are_found_by_name(program: Program) -> None:
    old = program("class Colour(enum.Enum):\n    RED = 1\n    BLUE = 2\n    GREEN = 3")
    saved = Saved([old.Colour.RED, old.Colour.BLUE])
    new = program("class Colour(enum.Enum):\n    BLUE = 1\n    RED = 2")
    assert saved.problems == []
    assert saved.read() == [new.Colour.RED, new.Colour.BLUE]
    program("class Colour(enum.Enum):\n    RED = 2")
    assert saved.problems == [
        f"class {MODULE}.Colour, field 'BLUE': stored values are this member, which is gone; bring it back"
    ]


def test_pickles_that_cannot_be_read_say_so(program: Program) -> None:
    old = program("class Colour(enum.Enum):\n    RED = 1\n    BLUE = 2")
    saved = Saved([{old.Colour.BLUE}])
    program("class Colour(enum.Enum):\n    RED = 1")
    with pytest.raises(EvolutionError, match=r"stored value can't be unpickled \(ValueError: 2 is not a valid Colour"):
        saved.read()


def test_keys_must_stay_as_they_are(program: Program) -> None:
    source = "@dataclass(frozen=True)\nclass Key:\n    a: int\n"
    old = program(source)
    saved, pickled = Saved([old.Key(1)]), Saved([old.Key(1), "text"])
    program(source)
    assert [check_keys(each.description) for each in (saved, pickled)] == [[], []]
    program(source + "    b: int = 0\n")
    for each in (saved, pickled):
        assert [str(problem) for problem in check_keys(each.description)] == [
            f"class {MODULE}.Key: it is (part of) the key of stored state and has changed; keep its fields and "
            f"state_version, or key by another class and start without this state"
        ]


def test_all_problems_are_told_at_once(program: Program) -> None:
    old = program("@dataclass\nclass A:\n    a: Any\nclass B(NamedTuple):\n    b: Any\nclass C: pass\n")
    saved = Saved([(old.A(old.B(1)), {old.C()})])
    program("")
    assert [problem.split(":")[0] for problem in saved.problems] == [f"class {MODULE}.{name}" for name in "ABC"]


# -- the main module --------------------------------------------------------------------------------------------------


def _of_main(program: Program, source: str) -> Any:
    """A class as workers know those of the main module: it says that it is from there, but it is not there."""
    cls = program(source).Order
    cls.__module__ = "__main__"
    return cls


@pytest.mark.parametrize(("wrap", "unwrap"), WRAPPED)
@pytest.mark.parametrize("source", [OLD, PLAIN.replace("Account", "Order")], ids=["dataclass", "object"])
def test_classes_of_the_main_module_come_from_the_driver(
    program: Program, wrap: Wrap, unwrap: Wrap, source: str
) -> None:
    saved = Saved([wrap(_of_main(program, source)(1))])
    assert {described["name"] for described in classes_of(saved.description)} == {"__main__:Order"}
    (problem,) = saved.problems
    assert "module __main__ has no class Order" in problem
    new = _of_main(program, source)
    (order,) = map(unwrap, saved.read({"__main__:Order": new}))
    assert type(order) is new


def test_functions_refer_to_classes_of_the_main_module_by_name(program: Program) -> None:
    old = _of_main(program, OLD)
    saved = Saved([lambda: old])
    new = _of_main(program, OLD)
    assert saved.read({"__main__:Order": new})[0]() is new


def test_a_class_of_the_main_module_is_found_on_the_driver(program: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    cls = _of_main(program, OLD)
    saved = Saved([cls(1), {1}])
    monkeypatch.setattr(sys.modules["__main__"], "Order", cls, raising=False)
    assert saved.problems == []
    assert saved.read() == [cls(1), {1}]
    assert find_class("__main__:Order") is cls
    assert cloudpickle.loads(cloudpickle.dumps(cls)) is cls
