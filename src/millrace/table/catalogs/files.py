"""``FileCatalog``: a catalog in a directory, one JSON file an object."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote

from millrace.table.catalogs import shelves
from millrace.table.catalogs.json_form import from_json, to_json
from millrace.table.catalogs.kept import KeptCatalog
from millrace.table.catalogs.shelves import Shelf
from millrace.util.secrets import holds_secret


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


def _holds_secret(written: Any) -> bool:
    """Whether an object has an option, on any level, that others may not read."""
    if isinstance(written, dict):
        return any(
            holds_secret(name, part) if isinstance(part, str) else _holds_secret(part) for name, part in written.items()
        )
    return isinstance(written, list) and any(map(_holds_secret, written))


class FileShelf(Shelf):
    """Objects as files: ``<root>/<database>/<kind>/<name>.json``. Several processes may use one directory: every file
    is written whole under another name and then moved, and everything is read when it is asked for."""

    def __init__(self, root: Path) -> None:
        self._root = root
        root.mkdir(parents=True, exist_ok=True)

    def _folder(self, kind: str, database: str) -> Path:
        if kind == shelves.DATABASE:
            return self._root / "databases"
        return self._root / "objects" / quote(database, safe="") / kind

    def _file(self, kind: str, database: str, name: str) -> Path:
        return self._folder(kind, database) / f"{quote(name, safe='')}.json"

    def names(self, kind: str, database: str) -> list[str]:
        folder = self._folder(kind, database)
        if not folder.is_dir():
            return []
        return sorted(unquote(file.stem) for file in folder.iterdir() if file.suffix == ".json")

    def get(self, kind: str, database: str, name: str) -> Any | None:
        try:
            text = self._file(kind, database, name).read_text("utf-8")
        except FileNotFoundError:
            return None
        return from_json(kind, json.loads(text))

    def put(self, kind: str, database: str, name: str, value: Any) -> None:
        file = self._file(kind, database, name)
        file.parent.mkdir(parents=True, exist_ok=True)
        draft = file.with_suffix(f".{os.getpid()}.draft")
        written = to_json(value)
        with open(draft, "w", encoding="utf-8", opener=_private if _holds_secret(written) else None) as stream:
            stream.write(json.dumps(written, indent=1, ensure_ascii=False) + "\n")
        draft.replace(file)

    def remove(self, kind: str, database: str, name: str) -> None:
        self._file(kind, database, name).unlink()


class FileCatalog(KeptCatalog):
    """A catalog that stays: ``CREATE CATALOG c WITH ('type' = 'file', 'path' = '/some/directory')``.

        >>> catalog = FileCatalog("kept", "folder")
        >>> t_env.register_catalog("kept", catalog)
        >>> t_env.list_catalogs()
        ['default_catalog', 'kept']
    """

    def __init__(self, name: str, path: str | Path, default_database: str = "default") -> None:
        super().__init__(name, default_database, FileShelf(Path(path)))
