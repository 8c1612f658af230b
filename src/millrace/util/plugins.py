"""Parts that are loaded when they are needed, by name: entry points of Millrace, beside those of other packages.

``pyproject.toml`` lists Millrace's own, in groups: connectors, formats, catalogs, operators, kinds of state, engines.
Whoever needs one asks here by group and name, so that no module imports upwards, and a part costs nothing until it is
used. An entry point of Millrace goes before one of the same name in another package.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from importlib.metadata import Distribution, EntryPoint, PackageNotFoundError, distribution, distributions
from typing import Any, TypeVar

__all__ = ["ENGINES", "LAUNCHERS", "NOTEBOOKS", "has", "load", "make", "metadata_files", "names"]

ENGINES = "millrace.engines"
"""what runs jobs: ``graph.engine.Engine``"""
LAUNCHERS = "millrace.launchers"
"""what submits to clusters: ``cluster`` a job (``Portable``), ``commands`` the programs of the command line"""
NOTEBOOKS = "millrace.notebooks"
"""what shows streams and tables in a notebook: ``notebook.previews``"""

DISTRIBUTION = "millrace-streaming"
T = TypeVar("T")


def has(group: str, name: str) -> bool:
    """Whether an installed package has an entry point; it is not loaded.

    :raises LookupError: Millrace itself is not installed, or was installed before it had entry points of this group.
    """
    return _find(group, name) is not None


def load(group: str, name: str) -> Any:
    """The object of an entry point: Millrace's own, or of another installed package.

    :raises LookupError: no installed package has it.
    """
    found = _find(group, name)
    if found is None:
        raise _missing(group, name)
    return found.load()


def make(group: str, name: str, base: type[T]) -> T:
    """A new object of the class that an entry point names.

    :raises LookupError: no installed package has it.
    :raises TypeError: it is no ``base``.
    """
    made = load(group, name)()
    if not isinstance(made, base):
        raise TypeError(f"entry point {name!r} of {group!r} makes a {type(made).__qualname__}, no {base.__name__}")
    return made


def names(group: str) -> list[str]:
    """The names of a group's entry points, of all installed packages, sorted."""
    return sorted({*_own().get(group, ()), *_installed().get(group, ())})


def metadata_files() -> dict[str, str]:
    """What makes Millrace an installed package where its modules alone are copied to: name of a file, beside the
    folder of the package, -> its text.

    :raises LookupError: Millrace is not installed here.
    """
    found = _distribution()
    if found is None:
        raise _missing(ENGINES, "spark")
    folder = f"{DISTRIBUTION.replace('-', '_')}-{found.version}.dist-info"
    return {f"{folder}/{name}": found.read_text(name) or "" for name in ("METADATA", "entry_points.txt")}


def _find(group: str, name: str) -> EntryPoint | None:
    # To look through all packages takes as long as to import fifty modules.
    own = _own().get(group)
    if own is None:
        raise _missing(group, name)
    return own.get(name) or _installed().get(group, {}).get(name)


def _missing(group: str, name: str) -> LookupError:
    return LookupError(
        f"no installed package has an entry point {name!r} of {group!r}: install Millrace (pip install "
        f"{DISTRIBUTION}, or pip install -e . in its folder) instead of only adding its folder to the path"
    )


def _distribution() -> Distribution | None:
    try:
        return distribution(DISTRIBUTION)
    except PackageNotFoundError:
        return None


@cache
def _own() -> Mapping[str, Mapping[str, EntryPoint]]:
    """Group -> name -> entry point, of Millrace alone."""
    found = _distribution()
    return {} if found is None else _grouped([found])


@cache
def _installed() -> Mapping[str, Mapping[str, EntryPoint]]:
    """Group -> name -> entry point, of all installed packages."""
    return _grouped(distributions())


def _grouped(packages: Iterable[Distribution]) -> Mapping[str, Mapping[str, EntryPoint]]:
    """The entry points that are for Millrace. Of two with one name, the first on the path is it."""
    found: dict[str, dict[str, EntryPoint]] = {}
    for point in (point for package in packages for point in package.entry_points):
        if point.group.startswith("millrace."):
            found.setdefault(point.group, {}).setdefault(point.name, point)
    return found
