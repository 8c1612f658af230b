"""Classes whose instances tests store."""

from __future__ import annotations

import collections
import enum
from dataclasses import InitVar, dataclass, field
from functools import cached_property
from typing import Any, ClassVar, NamedTuple


@dataclass
class Order:
    id: int
    tags: list[str] = field(default_factory=list)
    note: str | None = None


@dataclass(frozen=True, slots=True)
class Point:
    x: float
    y: float = 0.0


@dataclass(frozen=True)
class Checked:
    """Made without __init__, as pickle does: what __post_init__ computed comes from the file."""

    text: str
    given: InitVar[int] = 0
    length: int = field(init=False, default=-1)
    made: ClassVar[int] = 0

    def __post_init__(self, given: int) -> None:
        type(self).made += 1
        object.__setattr__(self, "length", len(self.text))

    @cached_property
    def upper(self) -> str:
        return self.text.upper()


@dataclass(slots=True)
class Tail:
    next: Any = None


@dataclass(frozen=True)
class HalfSlotted(Point):
    z: float = 1.0


@dataclass
class OwnPickle:
    a: int

    def __getstate__(self) -> dict[str, Any]:
        return {"a": -self.a}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.a = -state["a"]


@dataclass
class Listing(list):  # type: ignore[type-arg]
    name: str = ""


class Doubling:
    """A field that is not what it was set to."""

    def __get__(self, instance: Any, owner: type) -> int:
        return 0 if instance is None else instance.__dict__["a"]

    def __set__(self, instance: Any, value: int) -> None:
        instance.__dict__["a"] = 2 * value


@dataclass
class Doubled:
    a: int = Doubling()  # type: ignore[assignment]


class Pair(NamedTuple):
    left: Any
    right: Any = None


class Tagged(Pair):
    """A named tuple with attributes beside its fields."""


Loose = collections.namedtuple("Loose", ["a"])


class Colour(enum.Enum):
    RED = 1
    GREEN = "g"
    CRIMSON = 1  # noqa: PIE796


class Access(enum.Flag):
    READ = 1
    WRITE = 2


class Word(str, enum.Enum):
    A = "a"


class Plain:
    def __init__(self, content: Any) -> None:
        self.content = content

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Plain) and self.content == other.content

    __hash__ = None  # type: ignore[assignment]


class Slotted:
    __slots__ = ("content",)

    def __init__(self, content: Any) -> None:
        self.content = content

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Slotted) and self.content == other.content

    __hash__ = None  # type: ignore[assignment]


class Empty:
    def __eq__(self, other: object) -> bool:
        return isinstance(other, Empty)

    __hash__ = None  # type: ignore[assignment]


class Reduced:
    """Says itself how it is pickled, without any state."""

    def __init__(self, content: Any) -> None:
        self.content = content

    def __reduce__(self) -> Any:
        return Reduced, (self.content,)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Reduced) and self.content == other.content

    __hash__ = None  # type: ignore[assignment]


class Text(str):
    pass
