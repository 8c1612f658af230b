"""Records beside the same classes as frozen dataclasses: what a program sees of both is the same."""

from __future__ import annotations

import copy
import pickle
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import FrozenInstanceError, dataclass, field, fields, is_dataclass, replace
from typing import Any, ClassVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from millrace.util import record
from millrace.util.record import Record


class Point(Record):
    x: int
    y: int = 0
    where: str | None = field(default=None, compare=False, repr=False, kw_only=True)


class Named(Point):
    name: str = "?"
    options: Mapping[str, str] = field(default_factory=dict, hash=False)
    KIND: ClassVar[str] = "named"

    @property
    def label(self) -> str:
        return f"{self.name}@{self.x}"


@dataclass(frozen=True)
class PlainPoint:
    x: int
    y: int = 0
    where: str | None = field(default=None, compare=False, repr=False, kw_only=True)


@dataclass(frozen=True)
class PlainNamed(PlainPoint):
    name: str = "?"
    options: Mapping[str, str] = field(default_factory=dict, hash=False)


arguments = st.tuples(
    st.lists(st.integers(0, 2), max_size=2),
    st.dictionaries(st.sampled_from(["x", "y", "where", "name", "options", "other"]), st.integers(0, 1), max_size=4),
)


def made(kind: type, given: tuple[list[int], dict[str, int]]) -> Any:
    try:
        return kind(*given[0], **given[1])
    except TypeError as error:
        return str(error).replace("Plain", "")


@given(arguments, arguments)
def test_the_same_as_a_dataclass(one: Any, other: Any) -> None:
    for kind, plain in ((Point, PlainPoint), (Named, PlainNamed)):
        ours, theirs = [made(kind, one), made(kind, other)], [made(plain, one), made(plain, other)]
        assert [str(each) for each in ours] == [str(each).replace("Plain", "") for each in theirs]
        assert (ours[0] == ours[1]) == (theirs[0] == theirs[1])
        if not isinstance(ours[0], str) and not isinstance(ours[1], str):
            assert (hash(ours[0]) == hash(ours[1])) == (hash(theirs[0]) == hash(theirs[1]))


def test_fields_of_a_class_and_of_its_base() -> None:
    assert [each.name for each in fields(Named)] == [each.name for each in fields(PlainNamed)]
    assert [each.name for each in fields(Point)] == ["x", "y", "where"]
    assert is_dataclass(Named)


def test_it_never_changes() -> None:
    with pytest.raises(FrozenInstanceError):
        Point(1).x = 2  # type: ignore[misc]


def test_a_changed_copy() -> None:
    assert replace(Named(1, 2, name="a"), y=5) == Named(1, 5, name="a")


def test_patterns() -> None:
    match Named(1, 2, "a"):
        case Point(x, y):
            assert (x, y) == (1, 2)
        case _:
            raise AssertionError
    match Named(1, 2, "a"):
        case Named(_, _, name):
            assert name == "a"


def test_the_first_instance_may_come_from_a_pickle() -> None:
    pickled = pickle.dumps(Named(3, name="b", options={"k": "v"}))
    program = f"""
import pickle
from tests.util import test_record
value = pickle.loads({pickled!r})
assert value == test_record.Named(3, name="b", options={{"k": "v"}}) and value.label == "b@3", value
"""
    subprocess.run([sys.executable, "-c", program], check=True, timeout=60)
    assert copy.deepcopy(Named(3)) == Named(3)


def test_a_subclass_that_is_used_first() -> None:
    class Low(Record):
        a: int

    class Middle(Low):
        b: int = 2

    class High(Middle):
        c: int = 3

    assert "__init__" not in Middle.__dict__
    assert High(1) == High(1, 2, 3)
    assert Middle(1).b == 2
    with pytest.raises(TypeError):
        Low()  # type: ignore[call-arg]


def test_fields_of_a_subclass_whose_base_was_used_first() -> None:
    class Low(Record):
        a: int

    class High(Low):
        b: int = 2

    assert Low(1).a == 1
    assert [each.name for each in fields(High)] == ["a", "b"]


def test_a_decorated_subclass() -> None:
    @dataclass(frozen=True, order=True)
    class Ordered(Point):
        z: int = 0

    assert Ordered(1, 2, 3) < Ordered(1, 2, 4)


def test_a_class_below_a_complete_one_has_its_own_fields() -> None:
    class Above(Record):
        pass

    class Between(Above):
        x: int

    Above()  # which completes it alone
    assert [each.name for each in fields(Between)] == ["x"]

    class Lower(Above):
        x: int

    @dataclass(frozen=True)
    class Decorated(Lower):
        y: int

    assert [each.name for each in fields(Decorated)] == ["x", "y"]
    assert Decorated(1, 2) == Decorated(1, 2)


def test_slots_below_a_record() -> None:
    class Above(Record):
        x: int

    @dataclass(frozen=True, slots=True)
    class Slotted(Above):
        y: int

    assert (Slotted(1, 2).x, Slotted(1, 2).y) == (1, 2)


def test_threads_that_make_the_first_instances_at_the_same_time(monkeypatch: pytest.MonkeyPatch) -> None:
    class Base(Record):
        a: int

    class Used(Base):
        b: int = 2

    begun, compiled = threading.Event(), []

    def slowly(**options: Any) -> Callable[[type], type]:
        def compile_it(kind: type) -> type:
            compiled.append(kind)
            begun.set()
            time.sleep(0.05)  # while the others ask for instances
            made: type = dataclass(**options)(kind)
            return made

        return compile_it

    def use() -> Used:
        begun.wait(10)
        return Used(1)

    monkeypatch.setattr(record, "dataclass", slowly)
    with ThreadPoolExecutor(8) as pool:
        later = [pool.submit(use) for _ in range(7)]
        assert pool.submit(lambda: Used(1)).result(10) == Used(1)
        assert [each.result(10) for each in later] == [Used(1)] * 7
    assert compiled == [Base, Used]
