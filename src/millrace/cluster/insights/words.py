"""Numbers, durations and times as they stand in sentences."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone

_UNITS = ((86_400_000, "d"), (3_600_000, "h"), (60_000, "min"), (1_000, "s"), (1, "ms"))
_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)


def duration(ms: float) -> str:
    """The two largest units: ``3 min 20 s``, ``1.5 s``, ``12 ms``."""
    rest = round(abs(ms))
    if rest < 1_000:
        return f"{rest} ms"
    if rest < 10_000:
        return f"{rest / 1000:.1f}".removesuffix(".0") + " s"
    parts: list[str] = []
    rest -= rest % 1_000
    for size, name in _UNITS[:4]:
        if (count := rest // size) or parts:
            if count:
                parts.append(f"{count:,} {name}")
            rest %= size
            if len(parts) == 2 or not rest:
                break
    return " ".join(parts)


def millis(ms: float) -> str:
    """Of one record: ``0.02 ms``, ``1.5 ms``, ``120 ms``, ``2 s``."""
    if ms >= 100:
        return duration(ms)
    return f"{ms:.2g} ms" if ms < 10 else f"{ms:.0f} ms"


def moment(ms: int) -> str:
    """A point in event time, in UTC, as far as Python's dates reach; beyond, its milliseconds."""
    try:
        at = _EPOCH + timedelta(milliseconds=ms)
    except OverflowError:
        return f"{ms} ms"
    return f"{at:%Y-%m-%d %H:%M:%S} UTC"


def percent(share: float) -> str:
    return f"{share * 100:.0f} %" if share >= 0.1 or share == 0 else f"{share * 100:.1f} %"


def number(value: float) -> str:
    return f"{value:,.0f}"


def plural(count: int, thing: str) -> str:
    return f"{count:,} {thing}" if count == 1 else f"{count:,} {thing}s"


def short(name: str, length: int = 60) -> str:
    """A vertex's name, short enough for a sentence."""
    return name if len(name) <= length else name[: length - 1].rstrip() + "…"
