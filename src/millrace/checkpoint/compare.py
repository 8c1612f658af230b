"""Compares a checkpoint or savepoint with a program before anything runs: which state is restored, which is new, and
which does not fit.

It compares the declared types of states, the stored values where a state was declared to hold any Python value, and
whether the state of an operator belongs to the same query and to the same keys.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from millrace.checkpoint.compatibility import INCOMPATIBLE, SAME, adapter, compare_types, describe_type, type_text
from millrace.checkpoint.folder import RestoreError
from millrace.checkpoint.metadata import Metadata, SavedOperator, StateDescription, StateFile
from millrace.checkpoint.state_files import check_states
from millrace.checkpoint.state_rows import LIST_KINDS, MAP_KINDS
from millrace.checkpoint.window_forms import check_windows
from millrace.runtime.coordination.snapshot import JobSnapshot
from millrace.runtime.operators.job_graph import JobGraph, OperatorInfo
from millrace.runtime.operators.specs import Window
from millrace.runtime.state.info import KEYED, StateInfo

# Stored values and declared types

Described = dict[str, Any]

_PICKLED = "PICKLED"
_WHOLE = frozenset({"BYTE", "SHORT", "INT", "LONG", "BIG_INT", "FLOAT", "DOUBLE", "BIG_DEC"})
_FITS: dict[str, frozenset[str]] = {
    "int": _WHOLE,
    "big int": _WHOLE,
    "float": frozenset({"FLOAT", "DOUBLE"}),
    "bool": frozenset({"BOOLEAN"}),
    "str": frozenset({"STRING", "CHAR"}),
    "str with surrogates": frozenset({"STRING", "CHAR"}),
    "bytes": frozenset({"BYTES"}),
    "decimal": frozenset({"BIG_DEC"}),
    "date": frozenset({"DATE"}),
    "time": frozenset({"TIME"}),
    "datetime": frozenset({"TIMESTAMP"}),
    "tuple": frozenset({"TUPLE", "ROW"}),
    "tuples": frozenset({"TUPLE", "ROW"}),
    "list": frozenset({"LIST"}),
    "lists": frozenset({"LIST"}),
    "dict": frozenset({"MAP", "ROW"}),
    "dicts": frozenset({"MAP", "ROW"}),
    "row": frozenset({"ROW"}),
    "uuid": frozenset(),
    "enum": frozenset(),
    "named tuple": frozenset({"TUPLE", "ROW"}),
}
"""form of a column -> types that its values may have; forms without an entry are too vague"""
_INSTANT = "millrace.common.time:Instant"


def compare_stored(kind: str, columns: Mapping[str, Described], declared: Described) -> str:
    """``same``, or ``incompatible: ...`` if the columns of a state (of a table kind or distribution) contain other
    values than its declared type allows. Pickled values are taken to fit."""
    if kind in LIST_KINDS and declared["type"] == "LIST":
        parts = [("element", columns["value"], declared["element"])]
    elif kind in MAP_KINDS and declared["type"] == "MAP":
        parts = [("key", columns["map_key"], declared["key"]), ("value", columns["value"], declared["value"])]
    else:
        parts = [("", columns["value"], declared)]
    found = [wrong for path, stored, wanted in parts for wrong in _misfits(stored, wanted, path)]
    return f"{INCOMPATIBLE}: {'; '.join(found)}" if found else SAME


def _misfits(stored: Described, wanted: Described, path: str) -> Iterator[str]:
    form, type_name = stored["form"], wanted["type"]
    if type_name == _PICKLED:
        return
    if form == "dataclass":
        fits = frozenset({"INSTANT"}) if stored["class"]["name"] == _INSTANT else frozenset({"ROW"})
    elif form in _FITS:
        fits = _FITS[form]
    else:
        return
    if type_name not in fits:
        yield f"{path + ': ' if path else ''}stored values are of the form {form!r}, not {type_text(wanted)}"
        return
    for name, inner, part in _parts(stored, wanted):
        yield from _misfits(inner, part, f"{path}.{name}" if path else name)


def _parts(stored: Described, wanted: Described) -> Iterator[tuple[str, Described, Described]]:
    """(name, how it is stored, declared type) of each part that both descriptions have."""
    if wanted["type"] == "LIST":
        yield from ((f"{place}", each, wanted["element"]) for place, each in enumerate(stored.get("columns", ())))
        if "element" in stored:
            yield "element", stored["element"], wanted["element"]
    elif wanted["type"] == "MAP":
        yield from ((name, each, wanted["value"]) for name, each in _fields(stored))
        if "key" in stored:
            yield "key", stored["key"], wanted["key"]
            yield "value", stored["value"], wanted["value"]
    elif wanted["type"] == "TUPLE":
        yield from (
            (f"f{place}", each, part)
            for place, (each, part) in enumerate(zip(stored.get("columns", ()), wanted["fields"]))
        )
    elif wanted["type"] == "ROW":
        types = dict(zip(wanted.get("names", ()), wanted["fields"]))
        yield from ((name, each, types[name]) for name, each in _fields(stored) if name in types)


def _fields(stored: Described) -> Iterator[tuple[str, Described]]:
    names = stored["class"]["fields"] if "class" in stored else stored.get("names") or ()
    yield from zip(names, stored.get("columns", ()))


# The query and the keys of an operator

_ALIKE = {
    **dict.fromkeys(("BYTE", "SHORT", "INT", "LONG", "BIG_INT"), "whole"),
    **dict.fromkeys(("FLOAT", "DOUBLE"), "float"),
    **dict.fromkeys(("CHAR", "STRING"), "text"),
}
"""types whose values are of one Python class"""


def operator_change(metadata: Metadata, info: OperatorInfo) -> str | None:
    """Why the state of an operator in the snapshot does not belong to the present operator with its uid; None: it does,
    as far as known."""
    place = metadata.by_uid[info.uid]
    changed = place.changed(info)
    return _other_keys(metadata, info) if changed is None else f"its query {changed}"


def _other_keys(metadata: Metadata, info: OperatorInfo) -> str | None:
    if info.key_type is None:
        return None  # the tasks look at what comes
    now = describe_type(info.key_type)
    before = metadata.key_types.get(info.uid)
    if before is not None:
        return None if _same_keys(before, now) else f"its keys were {type_text(before)} and are {type_text(now)} now"
    saved = metadata.saved.get(info.uid)
    stored = () if saved is None else saved.files
    wrong = next(filter(None, (_key_stored_otherwise(file, now) for file in stored if file.scope == KEYED)), None)
    return None if wrong is None else f"its keys are {type_text(now)} now, and {wrong}"


def _same_keys(before: Described, now: Described) -> bool:
    """Whether keys of one type can equal keys of another one. Names of fields don't matter."""
    kinds = before["type"], now["type"]
    if "PICKLED" in kinds:
        return True  # that may be anything
    if _ALIKE.get(kinds[0], kinds[0]) != _ALIKE.get(kinds[1], kinds[1]):
        return False
    parts = before.get("fields", ()), now.get("fields", ())
    return len(parts[0]) == len(parts[1]) and all(map(_same_keys, *parts))


def _key_stored_otherwise(file: StateFile, now: Described) -> str | None:
    column = file.columns.get("key")
    verdict = "same" if column is None else compare_stored("", {"value": column}, now)
    return None if verdict == "same" else verdict.partition(": ")[2]


# All states of a program

SHOWN = 5
"""the most lines of one kind in an error"""


@dataclass(frozen=True)
class Comparison:
    """The result of a comparison: a line for each operator, grouped by whether its state is restored, new, dropped or
    incompatible."""

    restored: tuple[str, ...] = ()
    new: tuple[str, ...] = ()
    dropped: tuple[str, ...] = ()
    incompatible: tuple[str, ...] = ()

    def render(self) -> str:
        groups = [
            ("restored", self.restored),
            ("new", self.new),
            ("dropped", self.dropped),
            ("incompatible", self.incompatible),
        ]
        return "\n".join(f"  {what + ':':<13} {line}" for what, lines in groups for line in _first(lines))


def _first(lines: tuple[str, ...]) -> tuple[str, ...]:
    """The first lines, and how many more there are."""
    return lines if len(lines) <= SHOWN else (*lines[: SHOWN - 1], f"... {len(lines) - SHOWN + 1} more")


def compare(job: JobGraph, metadata: Metadata, snapshot: JobSnapshot, allow_non_restored: bool) -> Comparison:
    """Compare ``job`` with a checkpoint or savepoint by the uids of its operators, without running anything.

    :raises RestoreError: state would be dropped, which is not allowed, or something does not fit.
    """
    stateful = {*metadata.states, *snapshot.sources, *snapshot.committables}
    stateful |= {uid for uid, saved in metadata.saved.items() if saved.files or any(saved.smalls)}
    now = {info.uid: info for info in job.operators}
    earlier = metadata.by_uid
    restored, new, incompatible = [], [], []
    other: list[str] = []
    """operators whose state belongs to another query or to other keys"""
    for uid, info in now.items():
        title = f"{info.name!r} (uid {uid})"
        place = earlier.get(uid)
        if place is None:
            new.append(title)
            continue
        if place.max_parallelism != info.max_parallelism and uid in stateful:
            incompatible.append(
                f"{title}: its maximum parallelism is {info.max_parallelism}, but was {place.max_parallelism} in the "
                f"first run and can't change: call set_max_parallelism({place.max_parallelism})"
            )
        elif uid in stateful:
            rescaled = place.parallelism != info.parallelism
            change = f", {place.parallelism} -> {info.parallelism} subtasks" if rescaled else ""
            names = ", ".join(repr(state.name) for state in metadata.states.get(uid, ()))
            if place.windows is not None and isinstance(info.spec, Window):
                problem = check_windows(place.windows, info.spec.strategy)
                incompatible += [] if problem is None else [f"{title}: {problem}"]
            changed = operator_change(metadata, info)
            if changed is not None:
                other.append(f"{title}: {changed}")
                continue
            saved = metadata.saved.get(uid, SavedOperator())
            incompatible += [f"{title}: {problem}" for problem in check_states(saved.files)]
            restored.append(f"{title}{': ' + names if names else ''}{change}")
    dropped = [f"{earlier[uid].name!r} (uid {uid})" for uid in earlier if uid in stateful and uid not in now]
    fixes = []
    if other and not allow_non_restored:
        fixes.append(
            "change the query or the keys back, or let the operators for which these have changed begin empty "
            "(--allowNonRestoredState), or convert the savepoint (millrace.state)"
        )
    if incompatible:
        fixes.append("what is incompatible has to be mended as the lines say")
    (dropped if allow_non_restored else incompatible).extend(other)
    found = Comparison(tuple(restored), tuple(new), tuple(dropped), tuple(incompatible))
    if dropped and not allow_non_restored:
        fixes.append(
            "for what would be dropped, give the operators that should have this state the uids from above, "
            "or allow to drop it (--allowNonRestoredState)"
        )
    if fixes:
        raise RestoreError(_text(metadata, found, fixes))
    return found


def compare_states(
    job: JobGraph,
    metadata: Metadata,
    asked: Mapping[str, Sequence[StateInfo]],
    found: Comparison,
    may_drop: bool = False,
) -> Comparison:
    """Complete a comparison by the states that the functions have requested when they were opened (uid -> states).

    :param may_drop: whether a state that does not fit may start empty.
    :raises RestoreError: the kind or type of a state has changed.
    """
    incompatible = []
    infos_now = {info.uid: info for info in job.operators}
    names = {uid: f"{info.name!r} (uid {uid})" for uid, info in infos_now.items()}
    new = list(found.new)
    for uid, infos in asked.items():
        if uid in metadata.by_uid and operator_change(metadata, infos_now[uid]) is not None:
            continue  # all of it begins empty
        before = {(state.scope, state.name): state for state in metadata.states.get(uid, ())}
        for info in infos:
            state = StateDescription.of(info)
            known = before.get((state.scope, state.name))
            if known is not None:
                changes = misfits(known, state, metadata.saved.get(uid))
                incompatible += [f"{names[uid]}: {change}" for change in changes]
            elif uid in metadata.states:
                new.append(f"{names[uid]}: {state.kind} state {state.name!r}")
    if may_drop:
        return replace(found, new=tuple(new), dropped=(*found.dropped, *incompatible))
    found = replace(found, new=tuple(new), incompatible=(*found.incompatible, *incompatible))
    if incompatible:
        fix = (
            "give the changed state another name, or let it begin empty (--allowNonRestoredState), or convert the "
            "savepoint (millrace.state)"
        )
        raise RestoreError(_text(metadata, found, [fix]))
    return found


def misfits(before: StateDescription, now: StateDescription, saved: SavedOperator | None) -> list[str]:
    """Why a state can't be used as its function requests it now, by its declared type and its stored values; empty if
    it can."""
    return state_changes(before, now) or _values_stored_otherwise(saved, now)


def goes_on(before: StateInfo, now: StateInfo) -> str | None:
    """Why a state can't be used without converting its values; None if it can."""
    known, wanted = StateDescription.of(before), StateDescription.of(now)
    changes = state_changes(known, wanted)
    if changes:
        return f"{changes[0]}: give the changed state another name, and begin from the last checkpoint"
    if known.type is None or wanted.type is None or adapter(known.type, wanted.type) is None:
        return None
    return (
        f"state {now.name!r} was {type_text(known.type)} and is {type_text(wanted.type)} now, and was not asked for in "
        f"open(), so its values have not been converted: ask for it there, and begin from the last checkpoint (-s)"
    )


def inherited(job: JobGraph, metadata: Metadata) -> dict[str, tuple[StateInfo, ...]]:
    """uid -> restored states of the operator, whether its function requests them or not."""
    infos = [info for info in job.operators if info.uid in metadata.states and info.uid in metadata.by_uid]
    return {
        info.uid: tuple(state.info() for state in metadata.states[info.uid])
        for info in infos
        if operator_change(metadata, info) is None
    }


def _values_stored_otherwise(saved: SavedOperator | None, state: StateDescription) -> list[str]:
    """Why the stored values are not of the declared type; empty if they are, or if the type may hold anything."""
    if saved is None or state.type is None:
        return []
    files = [file for file in saved.files if (file.state, file.scope) == (state.name, state.scope)]
    verdicts = [compare_stored(file.kind, file.columns, state.type) for file in files]
    wrong = next((verdict for verdict in verdicts if verdict.startswith(INCOMPATIBLE)), None)
    return [] if wrong is None else [f"state {state.name!r} is {wrong}"]


def state_changes(before: StateDescription, now: StateDescription) -> list[str]:
    """Why a state can't be used as its function requests it now, by kind and declared type; empty if it can."""
    if before.type is None or now.type is None:
        return []  # an operator's own: that it fits has been seen
    if before.kind != now.kind:
        return [f"state {now.name!r} was a {before.kind} state and is a {now.kind} state now"]
    if before.ttl != now.ttl:
        was, becomes = ("with", "without") if before.ttl else ("without", "with")
        return [f"state {now.name!r} was {was} time to live and is {becomes} now"]
    verdict = compare_types(before.type, now.type)
    return [f"state {now.name!r} is {verdict}"] if verdict.startswith(INCOMPATIBLE) else []


def _text(metadata: Metadata, found: Comparison, fixes: Sequence[str]) -> str:
    return (
        f"the program does not fit the {metadata.kind} of job {metadata.job_name!r} (epoch {metadata.id}); nothing has "
        f"run:\n{found.render()}\n  fix:          {'; '.join(fixes)}"
    )
