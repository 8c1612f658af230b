"""Names of parts that are not visible yet: they tell to whom a file belongs, and in which epoch it was made."""

from __future__ import annotations

import re

__all__ = ["epoch_of", "hidden_name", "is_of", "other_target"]

_MARK = ".inprogress."
_EPOCH = re.compile(r"-(\d+)-[0-9a-f]+$")


def hidden_name(name: str, owner: str, epoch: int, token: str) -> str:
    """The name of part ``name`` while a sink (``owner``) writes it. No other run of a task has the token."""
    return f".{name}{_MARK}{owner}-{epoch}-{token}"


def is_of(owner: str, path: str) -> bool:
    """Whether it is a hidden part of that sink."""
    name = path.rpartition("/")[2]
    return name.startswith(".") and f"{_MARK}{owner}-" in name


def owner_in(path: str) -> str:
    """The sink that wrote a hidden part."""
    return path.rpartition(_MARK)[2].partition("-")[0]


def epoch_of(path: str) -> int:
    """The epoch in which a hidden part was made."""
    match = _EPOCH.search(path)
    return int(match.group(1)) if match else 0


def other_target(target: str, in_progress: str) -> str:
    """Where to put a part if another job has taken its place: the name ends as before, with the token in it."""
    directory, _, name = target.rpartition("/")
    head, dot, suffix = name.partition(".")
    return f"{directory}/{head}-{in_progress.rpartition('-')[2]}{dot}{suffix}"
