"""``LogFolder``: where the files of a log lie, on any file system that pyarrow or fsspec opens."""

from __future__ import annotations

from typing import Any

from pyarrow import fs

from millrace.common.files.file_systems import Location
from millrace.common.files.stores.kinds import makes_folders

__all__ = ["LogFolder"]


class LogFolder:
    """The files right below one directory. Can be pickled."""

    def __init__(self, location: Location) -> None:
        self._root = location.root
        self._path = location.path.rstrip("/")

    def child(self, name: str) -> LogFolder:
        return LogFolder(Location(self._root, f"{self._path}/{name}"))

    @property
    def _system(self) -> Any:
        return Location(self._root, self._path).file_system()

    def path(self, name: str) -> str:
        """The file's path, for messages."""
        return f"{self._path}/{name}"

    def create(self, name: str) -> Any:
        """A stream of bytes into a new file."""
        if not makes_folders(self._system):
            self._system.create_dir(self._path, recursive=True)
        return self._system.open_output_stream(self.path(name))

    def open(self, name: str) -> Any:
        """A stream of the file's bytes."""
        return self._system.open_input_stream(self.path(name))

    def size(self, name: str) -> int | None:
        """None if there is no such file."""
        info = self._system.get_file_info(self.path(name))
        return info.size if info.type is fs.FileType.File else None

    def names(self) -> list[str]:
        """All files; none if the directory is not there."""
        selector = fs.FileSelector(self._path, allow_not_found=True)
        return [info.base_name for info in self._system.get_file_info(selector) if info.type is fs.FileType.File]

    def delete(self, name: str) -> None:
        """Delete a file; one that is gone is fine."""
        try:
            self._system.delete_file(self.path(name))
        except FileNotFoundError:
            return
