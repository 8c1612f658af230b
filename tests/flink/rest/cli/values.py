"""What command lines are about: the world of requests, and programs, scripts, an address beside it."""

from __future__ import annotations

from tests.flink.rest import programs
from tests.flink.rest.world import World


class CommandValues:
    """The world of requests, and what command lines need beside it: programs, scripts, an address."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._known = {
            "program": str(programs.RUN_SQL),
            "failing": str(programs.HERE / "failing.py"),
            "address": world.base.removeprefix("http://"),
            **{f"script.{name}": str(programs.script(name)) for name in programs.STATES},
        }

    def value(self, name: str) -> str:
        return self._known[name] if name in self._known else self._world.value(name)

    def keep(self, name: str, value: object) -> None:
        self._world.keep(name, value)

    def file(self, name: str) -> tuple[str, bytes]:
        return self._world.file(name)
