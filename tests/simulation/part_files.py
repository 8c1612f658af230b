"""The files of parts, in the place of ``millrace.connectors.file_system.part_files``: a directory of names, behind
which lie contents that grow, are cut, renamed and deleted. A zombie does all that later, when the file may be another
one's.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Hashable, Iterator
from typing import TYPE_CHECKING, Any

from tests.simulation.faults import Violation

from millrace.connectors.file_system.part_files import PartStore

if TYPE_CHECKING:
    from tests.simulation.world import World


def encode(record: Hashable) -> bytes:
    """A line."""
    return json.dumps(record).encode() + b"\n"


def decode(content: bytes) -> list[Hashable]:
    """The records of a file.

    :raises Violation: a line is torn.
    """
    try:
        if content and not content.endswith(b"\n"):
            raise ValueError("no end of line")
        return [_as_tuples(json.loads(line)) for line in content.splitlines()]
    except ValueError as error:
        raise Violation(f"a line is torn: {error} in {content!r}") from None


def _as_tuples(value: Any) -> Hashable:
    return tuple(map(_as_tuples, value)) if isinstance(value, list) else value


class Content:
    """What an open file is, whatever its name may be by now."""

    def __init__(self, data: bytes = b"") -> None:
        self.data = bytearray(data)


class PartFiles(PartStore):
    """All part files of a world."""

    grows = True

    def __init__(self, world: World) -> None:
        super().__init__(None)
        self._world = world
        self._names: dict[str, Content] = {}
        self._shown: dict[str, bytes] = {}
        """visible files, as they were when they became visible"""
        self._haunted: set[str] = set()
        """files of zombies, which may come when all is over"""

    # -- in tasks -----------------------------------------------------------------------------------------------------

    def create(self, path: str, buffering: int = 0) -> OpenPart:
        if path in self._names:
            raise Violation(f"{path} is made twice: a name was used again")
        content = Content()
        self._do("create", path, lambda: self._names.__setitem__(path, content))
        self._haunt(path)
        return OpenPart(self, path, content)

    def append(self, path: str, size: int) -> OpenPart:
        content = self._names.get(path)
        if content is None:
            raise FileNotFoundError(path)
        if len(content.data) != size:
            raise Violation(f"{path} has {len(content.data)} bytes; its writer knows of {size}")
        return OpenPart(self, path, content)

    def copy(self, source: str, size: int, target: str) -> OpenPart:
        old, content = self._names.get(source), Content()
        if old is None:
            raise FileNotFoundError(source)

        def take_place() -> None:
            content.data[:] = old.data[:size]
            self._names[target] = content

        self._do(f"copy {size} bytes to", target, take_place)
        self._haunt(target)
        return OpenPart(self, target, content)

    def cut(self, path: str, size: int) -> None:
        """As ``truncate``, for engines that do so."""
        content = self._names[path]

        def take_place() -> None:
            content.data[:] = content.data[:size].ljust(size, b"\0")

        self._do(f"cut to {size} bytes", path, take_place)

    def write(self, path: str, content: Content, data: bytes) -> None:
        """In two steps, as large writes are."""
        middle = len(data) // 2
        for some in (data[:middle], data[middle:]):
            self._do("append to", path, lambda some=some: content.data.extend(some))  # type: ignore[misc]

    def _do(self, what: str, path: str, effect: Callable[[], None]) -> None:
        world = self._world
        if world.task is not None and world.task.zombie:
            world.task.later(f"{what} {path}", effect)
        else:
            world.touch("write a part")
            effect()

    def _haunt(self, path: str) -> None:
        if self._world.task is not None and self._world.task.zombie:
            self._haunted.add(path)

    # -- in tasks and on the driver -----------------------------------------------------------------------------------

    def size(self, path: str) -> int | None:
        content = self._names.get(path)
        return None if content is None else len(content.data)

    def delete(self, path: str) -> None:
        if path in self._shown:
            raise Violation(f"{path} is to be deleted, but everybody can see it")
        if self._world.task is not None and self._world.task.zombie:
            self._world.task.later(f"delete {path}", lambda: self._names.pop(path, None) and None)
        else:
            self._names.pop(path, None)

    # -- on the driver ------------------------------------------------------------------------------------------------

    def free_target(self, target: str, otherwise: str) -> str:
        return otherwise if target in self._names else target

    def move(self, path: str, target: str) -> None:
        if target in self._names:
            raise Violation(f"{path} takes the place of {target}")
        content = bytes(self._names[path].data)
        self._world.promises.may_commit(path)
        self._world.driver_code("commit")
        self._names[target] = self._names.pop(path)
        self._shown[target] = content
        self._world.ledger.show(target, decode(content))
        self._world.driver_code("commit, done")

    def files(self, directory: str) -> Iterator[str]:
        yield from list(self._names)

    # -- at the end ---------------------------------------------------------------------------------------------------

    def check_visible(self) -> None:
        """What readers have seen is there, and nothing else."""
        for path, content in self._shown.items():
            found = bytes(self._names[path].data)
            if found != content:
                raise Violation(f"{path} has changed since it became visible: {content!r} to {found!r}")

    def hidden(self) -> list[str]:
        """Files that nobody will ever see."""
        return [path for path in self._names if path not in self._shown and path not in self._haunted]


class OpenPart:
    """A file that is open for writing."""

    def __init__(self, files: PartFiles, path: str, content: Content) -> None:
        self._files = files
        self._path = path
        self._content = content

    def write(self, data: bytes) -> int:
        self._files.write(self._path, self._content, bytes(data))
        return len(data)

    def close(self) -> None:
        """Nothing is buffered."""
