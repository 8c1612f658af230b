"""The world that the functions, sources and sinks of a simulated job find themselves in."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.simulation.world import World

_worlds: list[World] = []


def world() -> World:
    return _worlds[-1]


def enter(new: World) -> None:
    _worlds.append(new)


def leave() -> None:
    _worlds.pop()
