"""``table.exec.emit.*``: group windows that give rows before their end, or change them behind it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from millrace.common.config_values import is_on, to_duration
from millrace.relational import nodes as n
from millrace.relational.nodes.traversal import transform
from millrace.runtime.tables.windows.count_windows import ROWS
from millrace.table.settings.table_config import STATE_TTL
from millrace.table.values.problems import problem

EARLY, EARLY_DELAY = "table.exec.emit.early-fire.enabled", "table.exec.emit.early-fire.delay"
LATE, LATE_DELAY = "table.exec.emit.late-fire.enabled", "table.exec.emit.late-fire.delay"
LATENESS = "table.exec.emit.allow-lateness"


def with_emission(plan: n.Rel, settings: Mapping[str, str]) -> n.Rel:
    """A plan whose group windows know when they give rows. To be called before the rules, which make windows of
    windowing table functions look the same.

    :raises TableException: settings contradict each other, or a window can't do what they say.
    """
    if not any(is_on(settings, key) for key in (EARLY, LATE)):
        return plan
    return transform(plan, lambda node: _of_window(node, settings) if isinstance(node, n.WindowAggregate) else node)


def _of_window(node: n.WindowAggregate, settings: Mapping[str, str]) -> n.Rel:
    if node.attached is not None:
        raise problem(
            f"{EARLY} and {LATE} are for group windows, GROUP BY TUMBLE(..) and HOP(..): aggregates over windowing "
            "table functions have rows that never change; nearest: CUMULATE for results before the end of a window"
        )
    if node.window.kind not in ("TUMBLE", "HOP"):
        what = "a window of rows" if node.window.kind == ROWS else f"{node.window.kind} windows"
        raise problem(f"{EARLY} and {LATE} are for TUMBLE and HOP, not for {what}: leave the settings out")
    return replace(node, emission=_emission(settings, node.input.schema[node.time].time != n.PROCTIME))


def _emission(settings: Mapping[str, str], event_time: bool) -> n.Emission | None:
    """:param event_time: False: no row is late, whatever is said of late ones."""
    early = _delay(settings, EARLY, EARLY_DELAY)
    late = _delay(settings, LATE, LATE_DELAY)
    if late is None:
        return None if early is None else n.Emission(early)
    key = LATENESS if LATENESS in settings else STATE_TTL
    lateness = to_duration(settings[key]).to_millis() if key in settings else 0
    if event_time and lateness <= 0:
        raise problem(f"{LATE} needs {LATENESS} (or {STATE_TTL}) above 0: how late a row may be")
    if late > lateness:
        raise problem(f"{LATE_DELAY} is {late} ms, longer than rows may be late ({lateness} ms): set {LATENESS} higher")
    if event_time:
        return n.Emission(early, late, lateness)
    return None if early is None else n.Emission(early)


def _delay(settings: Mapping[str, str], enabled: str, delay: str) -> int | None:
    """A delay (ms), None where it is not enabled."""
    if not is_on(settings, enabled):
        return None
    found = to_duration(settings[delay]).to_millis() if delay in settings else -1
    if found < 0:
        raise problem(f"{enabled} needs {delay}: 0 ms for each change, or how long changes wait")
    return found
