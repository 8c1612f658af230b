"""What a program's functions need on the workers beyond the program: Python files, archives, packages, other files."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass, replace

from millrace.common.config_values import split_list, to_boolean, to_map
from millrace.common.configuration import Configuration
from millrace.util.tracebacks import user_origin

__all__ = ["Archive", "CachedFile", "Dependencies", "Requirements", "dependencies_of"]


FILES = "python.files"
ARCHIVES = "python.archives"
REQUIREMENTS = "python.requirements"
EXECUTABLE = "python.executable"
CACHED_FILES = "pipeline.cached-files"
SEPARATOR = "#"
"""Between a path and what belongs to it, in Flink's configuration values."""


@dataclass(frozen=True)
class Archive:
    """An archive, and the folder below the workers' working directory that it is unpacked into."""

    path: str
    target: str


@dataclass(frozen=True)
class Requirements:
    """A requirements.txt, and a folder with the packages if they are not to be downloaded."""

    path: str
    packages: str | None
    origin: str
    """the user's file:line"""


@dataclass(frozen=True)
class CachedFile:
    """A file or folder for ``RuntimeContext.get_distributed_cache()``: a local path or a URI that Spark reads."""

    name: str
    path: str
    executable: bool


@dataclass(frozen=True)
class Dependencies:
    """All that an environment was told; each method gives a new object."""

    files: tuple[str, ...] = ()
    archives: tuple[Archive, ...] = ()
    requirements: Requirements | None = None
    executable: str | None = None
    """an interpreter, perhaps in an archive: ``target/bin/python``"""
    cached_files: tuple[CachedFile, ...] = ()

    def with_file(self, path: str, where: str) -> Dependencies:
        """Raises ``FileNotFoundError``. This process can import from the file, too; what was added last comes first."""
        file = existing(path, where)
        importable = import_path(file)
        if importable in sys.path:
            sys.path.remove(importable)
        sys.path.insert(0, importable)
        return replace(self, files=(*self.files, file))

    def with_archive(self, path: str, target: str | None, where: str) -> Dependencies:
        """Raises ``FileNotFoundError``, and ``ValueError`` for a target outside the working directory or one taken."""
        file = existing(path, where)
        folder = os.path.normpath(target or os.path.basename(file))
        if os.path.isabs(folder) or folder.split(os.sep)[0] in ("..", "."):
            raise ValueError(f"{where} at {user_origin()}: the target {target!r} must be a relative path")
        taken = [archive for archive in self.archives if archive.target == folder]
        if taken and taken[0].path != file:
            raise ValueError(f"{where} at {user_origin()}: {taken[0].path} is unpacked into {folder!r} already")
        return self if taken else replace(self, archives=(*self.archives, Archive(file, folder)))

    def with_requirements(self, path: str, packages: str | None, where: str) -> Dependencies:
        """Raises ``FileNotFoundError``."""
        folder = None if packages is None else existing(packages, where)
        return replace(self, requirements=Requirements(existing(path, where), folder, f"{where} at {user_origin()}"))

    def with_cached_file(self, name: str, path: str, executable: bool) -> Dependencies:
        """Raises ``FileNotFoundError`` for a local path, and ``ValueError`` for a name that is taken."""
        where = "register_cached_file()"
        file = CachedFile(name, path if _is_remote(path) else existing(path, where), executable)
        for other in self.cached_files:
            if other == file:
                return self
            if other.name == name:
                raise ValueError(f"{where} at {user_origin()}: the name {name!r} means {other.path} already")
        return replace(self, cached_files=(*self.cached_files, file))


def dependencies_of(configuration: Configuration, known: Dependencies) -> Dependencies:
    """``known`` and what Flink's configuration keys add: lists are separated by commas, ``#`` leads to a target."""
    for path in _listed(configuration, FILES):
        known = known.with_file(path, FILES)
    for archive in _listed(configuration, ARCHIVES):
        path, _, target = archive.partition(SEPARATOR)
        known = known.with_archive(path, target or None, ARCHIVES)
    for requirements in _listed(configuration, REQUIREMENTS)[:1]:
        path, _, packages = requirements.partition(SEPARATOR)
        known = known.with_requirements(path, packages or None, REQUIREMENTS)
    for entry in split_list(configuration.get_string(CACHED_FILES, "")):
        file = to_map(entry)
        if not file.keys() >= {"name", "path"}:
            raise ValueError(f"{CACHED_FILES}: expected is name:NAME,path:PATH with ; between several, not {entry!r}")
        known = known.with_cached_file(file["name"], file["path"], to_boolean(file.get("executable", "false")))
    executable = configuration.get_string(EXECUTABLE, "") or known.executable
    return replace(known, executable=executable)


def import_path(file: str) -> str:
    """What to add to ``sys.path`` so that a Python file, package folder or zip file can be imported from."""
    return os.path.dirname(file) if file.endswith(".py") else file


def existing(path: str, where: str) -> str:
    """The absolute path; FileNotFoundError, with the user's line, if there is nothing."""
    local = path.removeprefix("file://").removeprefix("file:")
    if not os.path.exists(local):
        raise FileNotFoundError(f"{where} at {user_origin()}: no such file: {path}")
    return os.path.abspath(local)


def is_flinks_and_missing(path: str) -> bool:
    """Whether a jar is one of Flink's connectors or formats, which nothing here would run, and is not there."""
    local = path.removeprefix("file://").removeprefix("file:")
    return os.path.basename(local).startswith("flink-") and not os.path.exists(local)


def _is_remote(path: str) -> bool:
    return "://" in path and not path.startswith("file:")


def _listed(configuration: Configuration, key: str) -> list[str]:
    return [part for part in configuration.get_string(key, "").split(",") if part]
