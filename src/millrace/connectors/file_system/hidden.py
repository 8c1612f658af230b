"""Names of parts that are not visible yet: they tell to whom a file belongs."""

from __future__ import annotations

__all__ = ["hidden_name", "is_of", "other_target"]

_MARK = ".inprogress."


def hidden_name(name: str, owner: str, token: str) -> str:
    """The name of part ``name`` while a sink (``owner``) writes it. No other epoch or attempt has the token."""
    return f".{name}{_MARK}{owner}-{token}"


def is_of(owner: str, path: str) -> bool:
    """Whether it is a hidden part of that sink."""
    name = path.rpartition("/")[2]
    return name.startswith(".") and f"{_MARK}{owner}-" in name


def other_target(target: str, in_progress: str) -> str:
    """Where to put a part if another job has taken its place: the name ends as before, with the token in it."""
    directory, _, name = target.rpartition("/")
    head, dot, suffix = name.partition(".")
    return f"{directory}/{head}-{in_progress.rpartition('-')[2]}{dot}{suffix}"
