"""The names of ``pyflink.shell``: those of the packages that it imports, and the environments that it makes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from millrace.pyflink_names.public_module import INTERNAL, NameLists, PublicModule, each

_IMPORTED = ("common", "datastream", "table", "table.catalog", "table.descriptors", "table.window", "metrics")
"""in PyFlink's order: a later module's name replaces an earlier one's"""


def shell_names(modules: Mapping[str, PublicModule]) -> PublicModule:
    """The entry of ``shell``, from those of ``modules``."""
    imported = [modules[name] for name in _IMPORTED]
    return PublicModule(
        "The names of PyFlink's Python shell: its environments, and the names of the packages that it imports.\n\n"
        "``from pyflink.shell import s_env, st_env, DataTypes``",
        here=_joined([*(module.here for module in imported), {"shell_environments": "s_env st_env"}]),
        not_yet=_joined(module.not_yet for module in imported),
        absent={INTERNAL: "utf8_out welcome_msg"},
        older=_joined([*(module.older for module in imported), {"shell_environments": "b_env bt_env"}]),
        lazy=True,
    )


def _joined(parts: Iterator[NameLists] | list[NameLists]) -> NameLists:
    found = {name: (place, there) for part in parts for place, name, there in each(part)}
    texts: dict[str, str] = {}
    for name, (place, there) in found.items():
        texts[place] = f"{texts.get(place, '')} {name if name == there else f'{name}={there}'}".strip()
    return texts
