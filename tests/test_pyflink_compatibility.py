"""``docs/pyflink-compatibility.md`` is what the code says, and nothing differs from PyFlink without a reason."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from scripts.compatibility import describe, refusals
from scripts.compatibility.compare import ABSENT, Entry, ModuleEntries, compare, parameter_problems
from scripts.compatibility.generate import TARGET, generate
from scripts.compatibility.page import COMMAND, page
from scripts.compatibility.reasons import REFUSED, Explanations, Reason, Unexplained

from millrace.pyflink_names import PublicModule


def test_the_page_is_up_to_date() -> None:
    """Also fails with ``Unexplained`` where something differs and scripts/compatibility/reasons.py does not say why."""
    assert TARGET.read_text("utf-8") == generate(), f"run `{COMMAND}` and look at what changed"


# -- parameters ---------------------------------------------------------------------------------------------------

PARAMETERS = [
    ("a, b=1", "a, b=1", [], []),
    ("a", "a, b=1, *c, **d", [], ["b=1", "*c", "**d"]),
    ("a", "a=1", [], []),
    ("a", "a, *, b=1", [], ["b=1"]),
    ("a=1", "a=2", ["`a` is 2 by default, not 1"], []),
    ("a=1", "a", ["`a` must be given"], []),
    ("a, b", "b, a", ["`b` instead of `a`", "`a` instead of `b`"], []),
    ("a, b", "a", ["without `b`"], []),
    ("a", "a, b", ["requires `b`"], []),
    ("*a", "a", ["`a` instead of `*a`"], []),
    ("j_a", "", ["without the Java object `j_a`"], []),
    ("j_a, b", "c, d=1", ["`c` instead of `b`", "without the Java object `j_a`"], ["d=1"]),
    ("j_a", "b, c=1", ["without the Java object `j_a`, takes `b` in its place"], ["c=1"]),
    ("a, j_b=None", "a, c=1", ["without the Java object `j_b`"], ["c=1"]),
]


@pytest.mark.parametrize(("theirs", "ours", "problems", "additions"), PARAMETERS)
def test_parameters(theirs: str, ours: str, problems: list[str], additions: list[str]) -> None:
    def split(text: str) -> list[str]:
        return [part for part in text.split(", ") if part]

    assert parameter_problems(split(theirs), split(ours)) == (problems, additions)


# -- two small packages, one of which is to be like the other -------------------------------------------------------

THEIRS = """
import enum

__all__ = ["Same"]
LIMIT = 3
_PRIVATE = 4
MORE = 5

class Base:
    def __init__(self, j_base):
        self.public = 1
        self._private = 2

    def handed_down(self, a):
        pass

class Same(Base):
    def __init__(self):
        class Inner:
            def f(self):
                self.not_an_attribute = 1

    def f(self, a, b=(1,), *c, **d):
        pass

    @staticmethod
    def make(a=None):
        pass

    class Context:
        def now(self):
            pass

    def __len__(self):
        return 0

class Color(enum.Enum):
    RED = 1
    BLUE = 2

class Gone:
    def f(self):
        pass

class Refused:
    def f(self):
        pass

def function(a):
    pass
"""
OURS = '''
import enum
from abc import ABC, abstractmethod
from millrace.util.not_yet import not_yet

__all__ = ["Same", "Extra"]
LIMIT = 3
MORE = 6

class Base(ABC):
    def __init__(self, a):
        self.public = 1

    def handed_down(self, a, b=1):
        """There."""
        raise not_yet("x", "y")

class Same(Base):
    def __init__(self):
        pass

    def f(self, a, b=(1,), *c, **d):
        pass

    @classmethod
    def make(cls, a=None):
        pass

    class Context(ABC):
        @abstractmethod
        def now(self): ...

    def handed_down(self, a):
        pass

    def more(self):
        pass

class Extra:
    pass

class Color(enum.Enum):
    RED = 1
    BLUE = 3

class Refused:
    def __init__(self):
        raise NotImplementedError("no")

def function(a):
    if a:
        raise not_yet("function", "other")
'''


@pytest.fixture
def packages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str, str], ModuleType]]:
    """``packages(name, source)``: the module of that name."""
    made = []

    def make(name: str, source: str) -> ModuleType:
        file = tmp_path / f"{name}.py"
        file.write_text(source)
        module = ModuleType(name)
        module.__file__ = str(file)
        monkeypatch.setitem(sys.modules, name, module)
        exec(compile(source, str(file), "exec"), module.__dict__)
        made.append(name)
        return module

    yield make
    describe.attributes.cache_clear()


@pytest.fixture
def entries(packages: Callable[[str, str], ModuleType]) -> dict[str, Entry]:
    theirs = packages("pyflink.toy", THEIRS)
    packages("millrace.toy", OURS)
    [found] = compare({"modules": {"pyflink.toy": describe.describe_module(theirs)}})
    assert found.beyond == ["Same.more", "Extra"]
    return {entry.name.removeprefix("pyflink.toy."): entry for entry in found.entries}


EXPECTED = {
    "LIMIT": [],
    "MORE": ["is 6, not 5"],
    "Base": ["without the Java object `j_base`, takes `a` in its place"],
    "Base.public": [],
    "Base.handed_down": [],
    "Same": [],
    "Same.f": [],
    "Same.make": [],
    "Same.__len__": [ABSENT],
    "Same.Context": [],
    "Same.Context.now": [],
    "Color": [],
    "Color.RED": [],
    "Color.BLUE": ["is 3, not 2"],
    "Gone": [ABSENT],
    "Gone.f": [ABSENT],
    "Refused": [ABSENT],
    "Refused.f": [ABSENT],
    "function": [],
}


def test_every_public_name_is_compared(entries: dict[str, Entry]) -> None:
    assert {name: list(entry.problems) for name, entry in entries.items()} == EXPECTED


def test_refusals_are_found(entries: dict[str, Entry]) -> None:
    refused = {name: entry.refusal for name, entry in entries.items() if entry.refusal is not None}
    assert refused == {
        "Base.handed_down": refusals.Refusal(True, "y"),
        "Refused": refusals.Refusal(True),
        "Refused.f": refusals.Refusal(True),
        "function": refusals.Refusal(False, "other"),
    }
    assert entries["Base.handed_down"].additions == ("b=1",)


class Contract:
    """Abstract methods count by what implements them."""

    def abstract(self) -> Any:
        raise NotImplementedError


def test_an_abstract_method_is_no_refusal() -> None:
    assert refusals.refusal_of(Contract.abstract) is None


def test_the_table_of_names_says_why_a_name_is_not_there() -> None:
    module = PublicModule(not_yet={"c": "B"}, absent={"wraps a Java object": "D E"})
    found = refusals.refusals_of_names(module)
    assert found.keys() == {"B", "D", "E"}
    assert found["B"].text == "not there yet; nearest: c"
    assert found["D"].text == found["E"].text == "wraps a Java object"


# -- the page -----------------------------------------------------------------------------------------------------


def written(
    *entries: Entry, reasons: tuple[Reason, ...] = (), same_in_effect: frozenset[str] = frozenset()
) -> tuple[list[str], Explanations]:
    explanations = Explanations(reasons, same_in_effect)
    text = page("2.3.0", [ModuleEntries("pyflink.toy", list(entries))], explanations)
    return [line for line in text.splitlines() if line.startswith("| `f(")], explanations


def test_lines_of_the_page() -> None:
    why = (Reason("toy.f", "without `b`", "no need"), Reason("toy.*", ABSENT, "later"))
    differs = Entry("pyflink.toy.f", "f(a, b)", ("without `b`",))
    lines, explanations = written(differs, Entry("pyflink.toy.g", "f(g)", (ABSENT,)), reasons=why)
    assert lines == ["| `f(a, b)` | differs: without `b` (no need) |", "| `f(g)` | absent: later |"]
    explanations.check()
    assert written(Entry("pyflink.toy.f", "f()"))[0] == ["| `f()` | same |"]
    assert written(Entry("pyflink.toy.f", "f()", additions=("a=1",)))[0] == ["| `f()` | same: plus `a=1` |"]


def test_refusals_on_the_page_have_their_own_reason() -> None:
    always, sometimes = (refusals.Refusal(always, "g") for always in (True, False))
    lines, explanations = written(
        Entry("pyflink.toy.f", "f(1)", refusal=always), Entry("pyflink.toy.f", "f(2)", refusal=sometimes)
    )
    assert lines == [
        "| `f(1)` | absent: not there yet; nearest: g |",
        f"| `f(2)` | differs: {REFUSED} in some cases (not there yet; nearest: g) |",
    ]
    explanations.check()


def test_what_has_no_reason_and_what_is_no_reason_fails() -> None:
    unused = Reason("toy.h", "*", "old")
    explanations = written(Entry("pyflink.toy.f", "f()", (ABSENT,)), reasons=(unused,))[1]
    with pytest.raises(Unexplained) as raised:
        explanations.check()
    assert str(raised.value).splitlines()[1:] == ["no reason for pyflink.toy.f: absent", f"no use for {unused}"]


def test_what_looks_different_may_be_the_same() -> None:
    same = frozenset({"pyflink.toy.f", "pyflink.toy.g"})
    entry = Entry("pyflink.toy.f", "f(a)", ("without `a`",))
    lines, explanations = written(entry, Entry("pyflink.toy.g", "f()"), same_in_effect=same)
    assert lines == ["| `f(a)` | same |", "| `f()` | same |"]
    with pytest.raises(Unexplained, match=r"no use for pyflink\.toy\.g$"):
        explanations.check()


@pytest.mark.parametrize(
    ("names", "problem", "fits"),
    [("a.b", "*", True), ("b", "*", False), ("x a.*", "no `c`", True), ("a.b", "no", False), ("a.b", "no `*`", True)],
)
def test_patterns_of_reasons(names: str, problem: str, fits: bool) -> None:
    assert Reason(names, problem, "").fits("pyflink.a.b", "no `c`") is fits
