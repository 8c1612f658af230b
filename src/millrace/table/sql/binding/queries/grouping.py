"""GROUP BY: its keys, and the sets of GROUPING SETS, ROLLUP and CUBE."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import combinations, product

from millrace.relational.rex import Rex
from millrace.table.sql import nodes
from millrace.table.sql.binding.block import Block
from millrace.table.sql.binding.dispatch import bind
from millrace.table.sql.binding.problems import fail
from millrace.table.sql.binding.relations.group_windows import GroupWindow, bind_group_window, is_group_window
from millrace.table.sql.text.errors import SqlValidationError
from millrace.util.record import Record

_Set = tuple[nodes.Node, ...]


class Keys(Record):
    """What a query groups by."""

    expressions: tuple[Rex, ...] = ()
    """over the columns of FROM; all different"""
    sets: tuple[tuple[int, ...], ...] | None = None
    """positions in ``expressions``; None: one set with all of them"""
    window: GroupWindow | None = None

    def always(self, position: int) -> bool:
        """Whether a key is in every set, so that grouping does not make it NULL."""
        return self.sets is None or all(position in each for each in self.sets)

    @property
    def repeated(self) -> bool:
        """Whether a set occurs several times."""
        return self.sets is not None and len(set(self.sets)) < len(self.sets)

    @property
    def may_be_empty(self) -> bool:
        """Whether there is a group also without any row."""
        return (not self.expressions and self.window is None) or (self.sets is not None and () in self.sets)


def bind_keys(group: nodes.Group | None, block: Block, aliases: Sequence[str]) -> Keys:
    """The keys of a GROUP BY.

    :param aliases: names that the SELECT list gives, for the error of those who group by one.
    """
    items = [] if group is None else list(group.expressions)
    windows = [item for item in items if is_group_window(item)]
    if len(windows) > 1:
        fail(windows[1], "a query can be grouped by one group window only")
    window = bind_group_window(windows[0], block) if windows else None
    choices = [_sets_of(item) for item in items if not is_group_window(item)]
    keys: list[Rex] = []
    sets = [
        tuple(dict.fromkeys(_position(each, block, keys, aliases) for part in combination for each in part))
        for combination in product(*choices)
    ]
    plain = not any(isinstance(item, (nodes.GroupingSets, nodes.Rollup, nodes.Cube)) for item in items)
    if plain:
        return Keys(tuple(keys), None, window)
    wanted = [tuple(sorted(each)) for each in sets]
    return Keys(tuple(keys), tuple(dict.fromkeys(wanted) if group is not None and group.distinct else wanted), window)


def _position(tree: nodes.Node, block: Block, keys: list[Rex], aliases: Sequence[str]) -> int:
    try:
        key = bind(tree, block)
    except SqlValidationError as error:
        plain = isinstance(tree, nodes.Column) and not tree.table
        name = nodes.name_of(tree)
        if plain and name in aliases and not block.scope.find(name):
            fail(tree, f"'{name}' is a name of the SELECT list: GROUP BY must repeat the expression")
        raise error
    if key not in keys:
        keys.append(key)
    return keys.index(key)


def _sets_of(item: nodes.Node) -> list[_Set]:
    if isinstance(item, nodes.GroupingSets):
        return [each for part in item.expressions for each in _sets_of(part)]
    if isinstance(item, nodes.Rollup):
        parts = [_columns(part) for part in item.expressions]
        return [_joined(parts[:length]) for length in range(len(parts), -1, -1)]
    if isinstance(item, nodes.Cube):
        parts = [_columns(part) for part in item.expressions]
        return [_joined(each) for size in range(len(parts), -1, -1) for each in combinations(parts, size)]
    return [_columns(item)]


def _columns(item: nodes.Node) -> _Set:
    return tuple(item.expressions) if isinstance(item, nodes.Tuple) else (item,)


def _joined(parts: Iterable[_Set]) -> _Set:
    return tuple(each for part in parts for each in part)
