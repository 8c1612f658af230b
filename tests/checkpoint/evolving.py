"""Two versions of the classes of a program's state: what stands in a savepoint, and what the program has become."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass
class Account:
    """The class as the first program had it."""

    owner: str
    amount: int
    note: str = ""


FIRST = Account


@dataclass
class _Later:
    amount: int
    owner: str
    limit: int = 100
    tags: list[str] = field(default_factory=list)


@dataclass
class _Needy:
    owner: str
    amount: int
    currency: str


def become(version: type) -> None:
    """From now on ``Account`` is this class: what a new version of the module would be."""
    global Account
    version.__name__ = version.__qualname__ = "Account"
    Account = version  # type: ignore[misc]


LATER, NEEDY = _Later, _Needy
