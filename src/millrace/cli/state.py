"""``millrace state``: what a savepoint or checkpoint holds, and how two of them differ."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from millrace.cli.state_text import Page, Shown
    from millrace.state import StateTableView
    from millrace.state.open_savepoint import Opened, StateEntry

NOT_FOUND = 1
"""Exit code of ``show``: there is no such key. Exit code of ``diff``: the states differ."""


class _StateError(click.ClickException):
    exit_code = 2


@click.group()
def state() -> None:
    """Look into savepoints and checkpoints.

    PATH is the path or URI of a savepoint, of a checkpoint (chk-N), or of the directory of a job's checkpoints, of
    which the last one counts. Nothing in it is run: values are shown by their fields, pickled ones by what their
    pickles say. With --trust classes are imported from the current directory and PYTHONPATH, and what is pickled is
    unpickled, which may run any code: only for savepoints of your own.
    """


_trust = click.option("--trust", is_flag=True, help="Unpickle values: it may run any code that the savepoint names.")


@state.command()
@click.argument("path")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@_trust
def ls(path: str, as_json: bool, trust: bool) -> None:
    """List operators and their states."""
    from millrace.cli.state_text import listing, listing_json
    from millrace.state import SavepointReader

    with _explained(path):
        reader = SavepointReader(_open(path, trust))
        show = listing_json if as_json else listing
        click.echo(show(reader.metadata, reader.operators()))


@state.command()
@click.argument("path")
@click.argument("uid")
@click.argument("name", metavar="[STATE]", required=False)
@click.option("--key", metavar="KEY", help="Only what is stored for this key: text, or a Python literal.")
@click.option("--limit", default=20, show_default=True, type=click.IntRange(min=0), help="Most entries of a state.")
@click.option("--offset", default=0, type=click.IntRange(min=0), help="Leave out this many entries of a state.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@_trust
def show(
    path: str, uid: str, name: str | None, key: str | None, limit: int, offset: int, as_json: bool, trust: bool
) -> None:
    """Print what the states of an operator hold.

    UID is the operator's uid or, if no other has it, its name. Without STATE all states are shown. States of a query
    are tables with the columns of the query. --offset and --limit turn pages: the order of entries stays the same.
    """
    from millrace.cli.state_text import Page, entries, entries_json, matches
    from millrace.state.open_savepoint import NotInSavepointError, nearest, operator_entry

    with _explained(path):
        opened = _open(path, trust)
        operator = operator_entry(opened, opened.find(uid))
        wanted = None if key is None else matches(key)
        page = Page(offset, limit)
        found = [
            _shown(opened, operator.uid, entry, wanted, page)
            for entry in operator.states
            if name is None or entry.name == name
        ]
        if name is not None and not found:
            names = [entry.name for entry in operator.states]
            raise NotInSavepointError(f"operator {uid!r} in {opened.uri} has no state {name!r}; {nearest(name, names)}")
        click.echo((entries_json if as_json else entries)(operator, found))
    if key is not None and not any(shown.pairs for shown in found):
        click.echo(f"nothing is stored for the key {key}", err=True)
        sys.exit(NOT_FOUND)


@state.command()
@click.argument("path")
@click.argument("uid")
@click.argument("name", metavar="[STATE]", required=False)
@click.option("--to", metavar="DIR", required=True, help="The folder for the files, which is made if it is missing.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@_trust
def export(path: str, uid: str, name: str | None, to: str, as_json: bool, trust: bool) -> None:
    """Write keyed states of an operator as Parquet files, one for each: DIR/STATE.parquet.

    States of a query have the columns of the query. Rows are read in batches, so a state may be larger than memory.
    """
    from millrace.cli.state_text import exported_json, exported_text
    from millrace.state import SavepointReader
    from millrace.state.query_tables import export_states

    with _explained(path):
        found = export_states(SavepointReader(_open(path, trust)), uid, name, to)
    click.echo((exported_json if as_json else exported_text)(found))


@state.command()
@click.argument("before", metavar="A")
@click.argument("after", metavar="B")
@click.option("--limit", default=5, show_default=True, type=click.IntRange(min=0), help="Most examples for a state.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@_trust
def diff(before: str, after: str, limit: int, as_json: bool, trust: bool) -> None:
    """Compare two savepoints or checkpoints.

    Exits with 0 if they hold the same, with 1 if they differ, with 2 after an error.
    """
    from millrace.cli.state_text import difference_json, difference_text
    from millrace.state.diff import compare_savepoints

    with _explained(before):
        a = _open(before, trust)
    with _explained(after):
        b = _open(after, trust)
        found = compare_savepoints(a, b, limit)
    click.echo((difference_json if as_json else difference_text)(a, b, found))
    if found:
        sys.exit(NOT_FOUND)


def _open(path: str, trust: bool) -> Opened:
    from millrace.configuration.files import file_settings
    from millrace.state.open_savepoint import open_snapshot

    file_settings()  # credentials of the store that it may lie in
    if trust and "" not in sys.path:
        sys.path.insert(0, "")  # where `python -m` looks, too
    return open_snapshot(path, trust=trust)


def _shown(opened: Opened, uid: str, entry: StateEntry, wanted: Callable[[Any], bool] | None, page: Page) -> Shown:
    """Some entries of a state: as a table, where the savepoint says what its columns are."""
    from millrace.cli.state_text import Shown
    from millrace.runtime.state.info import KEYED
    from millrace.state.reader import table_view

    view = table_view(opened, opened.find(uid), entry.name) if entry.scope == KEYED else None
    found: Iterator[Any]
    if view is None:
        pairs = _pairs(opened, uid, entry.name, entry.scope)
        found = pairs if wanted is None else (pair for pair in pairs if wanted(pair[0]))
    else:
        found = _rows(view, wanted)
    first = list(islice(found, page.offset, page.offset + page.limit + 1))
    columns = None if view is None else view.columns
    return Shown(entry, tuple(first[: page.limit]), len(first) > page.limit, page, columns)


def _rows(view: StateTableView, wanted: Callable[[Any], bool] | None) -> Iterator[tuple[Any, ...]]:
    """The rows of a table, in their order."""

    def is_wanted(key: Any) -> bool:
        return wanted is None or wanted(key) or (len(key) == 1 and wanted(key[0]))

    for table in view.tables(None if wanted is None else is_wanted):
        yield from zip(*(column.to_pylist() for column in table.columns))


def _pairs(opened: Opened, uid: str, name: str, scope: str) -> Iterator[tuple[Any, Any]]:
    """(key, value) of a state; values whose class can't be imported are shown by their fields."""
    from millrace.state.diff import plain, readable
    from millrace.state.open_savepoint import TIMER_NAMES
    from millrace.state.reader import first_copy, pairs_of

    names = [stored for stored, shown in TIMER_NAMES.items() if shown == name] or [name]
    for piece in first_copy(opened.pieces(opened.find(uid), scope, names)):
        yield from pairs_of(piece if readable(piece, opened) else plain(piece), opened)


@contextlib.contextmanager
def _explained(path: str) -> Iterator[None]:
    """Turn expected errors into one line and exit code 2."""
    from millrace.checkpoint.folder import RestoreError, SnapshotError
    from millrace.state import NotInSavepointError

    try:
        yield
    except SnapshotError as error:
        raise _StateError(f"{error}{_nearby(path)}") from None
    except (RestoreError, NotInSavepointError, OSError, ValueError) as error:
        raise _StateError(str(error)) from None


def _nearby(path: str) -> str:
    """Savepoints in the named folder or beside it, which the user may have meant."""
    import difflib

    place = Path(path)
    inside = sorted(str(found.parent) for found in place.glob("*/_metadata"))
    beside = {str(found.parent) for found in place.parent.glob("*/_metadata")}
    similar = inside[:3] or difflib.get_close_matches(str(place), beside, n=3, cutoff=0.6)
    return f"; did you mean {' or '.join(similar)}?" if similar else ""


COMMANDS = (state,)
