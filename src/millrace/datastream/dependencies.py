"""Dependencies of a program's functions on the workers: Python files, archives, packages, other files."""

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
"""Separates a path from its target, in values of Flink's configuration."""


@dataclass(frozen=True)
class Archive:
    """An archive, and the folder in the workers' working directory into which it is unpacked."""

    path: str
    target: str


@dataclass(frozen=True)
class Requirements:
    """A requirements.txt, and a folder with the packages if they are not to be downloaded."""

    path: str
    packages: str | None
    origin: str
    """the user's line that added it: file:line"""


@dataclass(frozen=True)
class CachedFile:
    """A file or folder for ``RuntimeContext.get_distributed_cache()``: a local path or a URI that Spark reads."""

    name: str
    path: str
    executable: bool


@dataclass(frozen=True)
class Dependencies:
    """All dependencies of an environment; each method returns a new object."""

    files: tuple[str, ...] = ()
    archives: tuple[Archive, ...] = ()
    requirements: Requirements | None = None
    executable: str | None = None
    """path of the Python interpreter, which may be in an archive: ``target/bin/python``"""
    cached_files: tuple[CachedFile, ...] = ()

    def with_file(self, path: str, where: str) -> Dependencies:
        """Add a Python file. This process can import from it, too; the last added file comes first. Raises
        ``FileNotFoundError``."""
        file = existing(path, where)
        importable = import_path(file)
        if importable in sys.path:
            sys.path.remove(importable)
        sys.path.insert(0, importable)
        return replace(self, files=(*self.files, file))

    def with_archive(self, path: str, target: str | None, where: str) -> Dependencies:
        """Add an archive. Raises ``FileNotFoundError``, and ``ValueError`` for a target that is outside of the working
        directory or taken."""
        file = existing(path, where)
        folder = os.path.normpath(target or os.path.basename(file))
        if os.path.isabs(folder) or folder.split(os.sep)[0] in ("..", "."):
            raise ValueError(f"{where} at {user_origin()}: the target {target!r} must be a relative path")
        taken = [archive for archive in self.archives if archive.target == folder]
        if taken and taken[0].path != file:
            raise ValueError(f"{where} at {user_origin()}: {taken[0].path} is unpacked into {folder!r} already")
        return self if taken else replace(self, archives=(*self.archives, Archive(file, folder)))

    def with_requirements(self, path: str, packages: str | None, where: str) -> Dependencies:
        """Set the requirements. Raises ``FileNotFoundError``."""
        folder = None if packages is None else existing(packages, where)
        return replace(self, requirements=Requirements(existing(path, where), folder, f"{where} at {user_origin()}"))

    def with_cached_file(self, name: str, path: str, executable: bool) -> Dependencies:
        """Add a cached file. Raises ``FileNotFoundError`` for a local path, and ``ValueError`` for a name that is
        taken."""
        where = "register_cached_file()"
        file = CachedFile(name, path if _is_remote(path) else existing(path, where), executable)
        for other in self.cached_files:
            if other == file:
                return self
            if other.name == name:
                raise ValueError(f"{where} at {user_origin()}: the name {name!r} means {other.path} already")
        return replace(self, cached_files=(*self.cached_files, file))


def dependencies_of(configuration: Configuration, known: Dependencies) -> Dependencies:
    """``known`` with the dependencies in Flink's configuration keys: lists are separated by commas, a target follows
    ``#``."""
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
    """Whether a jar is one of Flink's connectors or formats, which Millrace would not use, and does not exist."""
    local = path.removeprefix("file://").removeprefix("file:")
    return os.path.basename(local).startswith("flink-") and not os.path.exists(local)


def _is_remote(path: str) -> bool:
    return "://" in path and not path.startswith("file:")


def _listed(configuration: Configuration, key: str) -> list[str]:
    return [part for part in configuration.get_string(key, "").split(",") if part]
