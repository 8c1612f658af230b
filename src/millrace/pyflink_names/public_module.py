"""``PublicModule``: where the public names of one module of PyFlink are in Millrace."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

INTERNAL = "part of PyFlink's implementation, not of its API"
WRAPS_JAVA = "wraps a Java object"
WORKS_ON_JAVA = "works on Java objects"
CONVERTS_JAVA = "turns Java objects into Python's and back"

NameLists = Mapping[str, str]
"""A place or a reason -> names with blanks between; ``Name=Other`` is called ``Other`` in its place."""


class PublicModule(NamedTuple):
    """The names of a module ``pyflink.x``, which is ``millrace.x`` here. Places are modules, without ``millrace.``.

    A module is a door if all its names are in other places; ``python -m scripts.doors`` writes its file.
    """

    about: str = ""
    """the docstring of a door"""
    here: NameLists = {}
    """place -> names of ``__all__``"""
    unlisted: NameLists = {}
    """place -> names that can be imported, too"""
    late: NameLists = {}
    """place -> more such names; the place lies above the module and is imported when the name is first used"""
    not_yet: NameLists = {}
    """the nearest alternative -> names that can be imported, and refuse to be used"""
    absent: NameLists = {}
    """reason -> names that are not there"""
    older: NameLists = {}
    """place -> names of earlier versions of PyFlink, which only ``pyflink.x`` has"""
    lazy: bool = False
    """Is every place of ``here`` imported when one of its names is first used?"""
    served: str = ""
    """the place that ``pyflink.x`` is, if not ``x``"""

    def places(self) -> dict[str, str]:
        """Name -> ``place:name there``, of all names that ``millrace.x`` has."""
        return {
            name: f"{place}:{there}"
            for names in (self.here, self.unlisted, self.late)
            for place, name, there in each(names)
        }

    def is_door(self, name: str) -> bool:
        """Is ``millrace.<name>``, this module, a door?"""
        has_names = bool(self.here or self.unlisted or self.not_yet)
        return has_names and name not in self.here and name not in self.unlisted


def each(names: NameLists) -> Iterator[tuple[str, str, str]]:
    """(place or reason, name, name there) of each name."""
    for place, text in names.items():
        for word in text.split():
            name, _, there = word.partition("=")
            yield place, name, there or name
