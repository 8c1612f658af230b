"""Folders, sizes and names of part files: ``BucketAssigner``, ``RollingPolicy``, ``OutputFileConfig``.

Dates in bucket names are patterns of Java's ``DateTimeFormatter``.
"""

from __future__ import annotations

import datetime as dt
import re
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from millrace.common.sink import SinkWriterContext

_Part = Callable[[dt.datetime], str]
_TOKEN = re.compile(r"'((?:[^']|'')*)'|([A-Za-z])\2*|[^A-Za-z']+")
_OFFSET = re.compile(r"(?:GMT|UTC|UT)?([+-])(\d{1,2})(?::?(\d{2}))?(?::?(\d{2}))?")


def java_zone(zone_id: str | None) -> dt.tzinfo | None:
    """The zone of an id such as ``America/Los_Angeles``, ``GMT-08:00``, ``+01:00`` or ``Z``; None is this machine's.

    :raises ValueError: for an unknown id.
    """
    if zone_id is None:
        return None
    if zone_id in ("Z", "UTC", "GMT", "UT"):
        return dt.timezone.utc
    if match := _OFFSET.fullmatch(zone_id):
        sign, hours, minutes, seconds = match.groups()
        offset = dt.timedelta(hours=int(hours), minutes=int(minutes or 0), seconds=int(seconds or 0))
        return dt.timezone(offset if sign == "+" else -offset)
    try:
        return ZoneInfo(zone_id)
    except (ZoneInfoNotFoundError, ValueError) as error:
        raise ValueError(f"unknown time zone id {zone_id!r}") from error


def java_formatter(pattern: str) -> Callable[[dt.datetime], str]:
    """A function that formats by a Java pattern: y u M d D E a H k K h m s S, quoted text and other characters.

    :raises ValueError: for a letter that is not supported.
    """
    parts: list[_Part] = []
    at = 0
    while at < len(pattern):
        match = _TOKEN.match(pattern, at)
        if match is None:
            raise ValueError(f"the date pattern {pattern!r} has an opening quote without a closing one")
        text = match.group()
        if match.group(2):
            parts.append(_field(text[0], len(text), pattern))
        elif match.group(1) is not None:
            parts.append(_constant(match.group(1).replace("''", "'") or "'"))
        else:
            parts.append(_constant(text))
        at = match.end()
    return lambda moment: "".join([part(moment) for part in parts])


def _constant(text: str) -> _Part:
    return lambda moment: text


def _field(letter: str, width: int, pattern: str) -> _Part:
    if letter in "yu" and width == 2:
        return lambda moment: f"{moment.year % 100:02d}"
    if letter == "M" and width >= 3:
        return _name("%b" if width == 3 else "%B")
    if letter == "E":
        return _name("%a" if width <= 3 else "%A")
    if letter == "a":
        return _name("%p")
    if letter == "S":
        return lambda moment: f"{moment.microsecond:06d}000"[:width].ljust(width, "0")
    number = _NUMBERS.get(letter)
    if number is None:
        raise ValueError(f"the letter {letter!r} of the date pattern {pattern!r} is not supported")
    return lambda moment: f"{number(moment):0{width}d}"


def _name(directive: str) -> _Part:
    return lambda moment: moment.strftime(directive)


_NUMBERS: dict[str, Callable[[dt.datetime], int]] = {
    "y": lambda moment: moment.year,
    "u": lambda moment: moment.year,
    "M": lambda moment: moment.month,
    "d": lambda moment: moment.day,
    "D": lambda moment: moment.timetuple().tm_yday,
    "H": lambda moment: moment.hour,
    "k": lambda moment: moment.hour or 24,
    "K": lambda moment: moment.hour % 12,
    "h": lambda moment: moment.hour % 12 or 12,
    "m": lambda moment: moment.minute,
    "s": lambda moment: moment.second,
}


class BucketContext:
    """What is known about the element at hand."""

    __slots__ = ("_now", "_writer_context")

    _now: int
    _writer_context: SinkWriterContext

    def current_processing_time(self) -> int:
        """The task's clock, ms since the epoch."""
        return self._now

    def current_watermark(self) -> int:
        return self._writer_context.current_watermark()

    def timestamp(self) -> int | None:
        """The element's event timestamp in ms, None when it has none."""
        return self._writer_context.timestamp()


class BucketAssigner(ABC):
    """Chooses a bucket for each element; subclass it to choose by content.

    >>> class ByName(BucketAssigner):
    ...     def get_bucket_id(self, element, context):
    ...         return element[0]
    >>> ByName().get_bucket_id(("Ann", 1), None)
    'Ann'
    """

    @abstractmethod
    def get_bucket_id(self, element: Any, context: BucketContext) -> str:
        """The bucket's path relative to the base path, "" for the base path itself; must not contain ``..``."""

    @staticmethod
    def base_path_bucket_assigner() -> BucketAssigner:
        """One bucket: the base path."""
        return BasePathBucketAssigner()

    @staticmethod
    def date_time_bucket_assigner(format_str: str = "yyyy-MM-dd--HH", timezone_id: str | None = None) -> BucketAssigner:
        """Buckets by the processing time.

        :param format_str: a pattern of Java's ``DateTimeFormatter``.
        :param timezone_id: such as ``Europe/Berlin`` or ``GMT-08:00``; None is the zone of the machine.
        :raises ValueError: for a pattern or a zone that is not understood.
        """
        return DateTimeBucketAssigner(format_str, timezone_id)


class BasePathBucketAssigner(BucketAssigner):
    """Everything goes to the base path."""

    def get_bucket_id(self, element: Any, context: BucketContext) -> str:
        return ""


class DateTimeBucketAssigner(BucketAssigner):
    """The processing time as a directory; see ``BucketAssigner.date_time_bucket_assigner``."""

    def __init__(self, format_str: str, timezone_id: str | None) -> None:
        self._format_str = format_str
        self._timezone_id = timezone_id
        self._prepare()

    def _prepare(self) -> None:
        self._format = java_formatter(self._format_str)
        self._zone = java_zone(self._timezone_id)
        # The same text serves a whole second, unless the pattern has fractions of it.
        self._unit_ms = 1 if "S" in self._format_str else 1000
        self._cached_unit = -1
        self._cached = ""

    def get_bucket_id(self, element: Any, context: BucketContext) -> str:
        now = context.current_processing_time()
        unit = now // self._unit_ms
        if unit != self._cached_unit:
            moment = dt.datetime.fromtimestamp(now // 1000, self._zone)
            self._cached = self._format(moment.replace(microsecond=now % 1000 * 1000))
            self._cached_unit = unit
        return self._cached

    def __reduce__(self) -> tuple[Any, ...]:
        return DateTimeBucketAssigner, (self._format_str, self._timezone_id)


class PartFileInfo(ABC):
    """What a policy may know about the open part file of a bucket.

    >>> class Large(CheckpointRollingPolicy):
    ...     def should_roll_on_event(self, part_file_state, element):
    ...         return part_file_state.get_size() > 1_000_000
    ...     def should_roll_on_processing_time(self, part_file_state, current_time):
    ...         return False
    """

    bucket_id: str
    creation_time: int
    """ms since the epoch."""
    last_update_time: int
    """When the last element was written, ms since the epoch."""
    size: int
    """Bytes written so far."""

    def get_bucket_id(self) -> str:
        """The bucket that the file belongs to."""
        return self.bucket_id

    def get_creation_time(self) -> int:
        """When the file was begun, in ms since 1970."""
        return self.creation_time

    def get_last_update_time(self) -> int:
        """When the file was last written to, in ms since 1970."""
        return self.last_update_time

    def get_size(self) -> int:
        """How many bytes the file has so far."""
        return self.size


class RollingPolicy(ABC):
    """Decides when to finish a part file; subclass it for rules of your own.

    >>> policy = RollingPolicy.default_rolling_policy(part_size=1_000_000, rollover_interval=60_000)
    >>> sink = FileSink.for_row_format("out", Encoder.simple_string_encoder()).with_rolling_policy(policy).build()
    """

    @abstractmethod
    def should_roll_on_checkpoint(self, part: PartFileInfo) -> bool:
        """Asked at the end of each epoch."""

    @abstractmethod
    def should_roll_on_event(self, part: PartFileInfo, element: Any) -> bool:
        """Asked before ``element`` is written: finish the part and write it to a new one?"""

    @abstractmethod
    def should_roll_on_processing_time(self, part: PartFileInfo, current_time: int) -> bool:
        """Asked when the sink's bucket check interval (ms) has passed, also while nothing comes."""

    @staticmethod
    def default_rolling_policy(
        part_size: int = 1024 * 1024 * 128, rollover_interval: int = 60_000, inactivity_interval: int = 60_000
    ) -> DefaultRollingPolicy:
        """Roll a part that exceeds ``part_size`` bytes, is older than ``rollover_interval`` ms or has not been written
        to for ``inactivity_interval`` ms.

        :raises ValueError: if one of them is not positive.
        """
        return DefaultRollingPolicy(part_size, rollover_interval, inactivity_interval)

    @staticmethod
    def on_checkpoint_rolling_policy() -> OnCheckpointRollingPolicy:
        """Roll at the end of every epoch, and only then."""
        return OnCheckpointRollingPolicy()


class DefaultRollingPolicy(RollingPolicy):
    """By size, age and inactivity; see ``RollingPolicy.default_rolling_policy``.

    >>> policy = RollingPolicy.default_rolling_policy()
    >>> policy.part_size, policy.rollover_interval
    (134217728, 60000)
    """

    def __init__(self, part_size: int, rollover_interval: int, inactivity_interval: int) -> None:
        for name, value in (
            ("part_size", part_size),
            ("rollover_interval", rollover_interval),
            ("inactivity_interval", inactivity_interval),
        ):
            if value <= 0:
                raise ValueError(f"{name} must be positive, got {value}")
        self.part_size = part_size
        self.rollover_interval = rollover_interval
        self.inactivity_interval = inactivity_interval

    def should_roll_on_checkpoint(self, part: PartFileInfo) -> bool:
        return part.size > self.part_size

    def should_roll_on_event(self, part: PartFileInfo, element: Any) -> bool:
        return part.size > self.part_size

    def should_roll_on_processing_time(self, part: PartFileInfo, current_time: int) -> bool:
        return (
            current_time - part.creation_time >= self.rollover_interval
            or current_time - part.last_update_time >= self.inactivity_interval
        )


class CheckpointRollingPolicy(RollingPolicy):
    """Base of the policies that always roll at the end of an epoch: the only ones for bulk formats.

    >>> issubclass(OnCheckpointRollingPolicy, CheckpointRollingPolicy)
    True
    """

    def should_roll_on_checkpoint(self, part: PartFileInfo) -> bool:
        return True


class OnCheckpointRollingPolicy(CheckpointRollingPolicy):
    """Rolls at the end of every epoch, and only then.

    >>> isinstance(RollingPolicy.on_checkpoint_rolling_policy(), OnCheckpointRollingPolicy)
    True
    """

    def should_roll_on_event(self, part: PartFileInfo, element: Any) -> bool:
        return False

    def should_roll_on_processing_time(self, part: PartFileInfo, current_time: int) -> bool:
        return False


@dataclass(frozen=True)
class OutputFileConfig:
    """Prefix and suffix in ``<prefix>-<uid>-<subtask>-<n><suffix>``.

    >>> config = OutputFileConfig.builder().with_part_prefix("orders").with_part_suffix(".txt").build()
    >>> config.get_part_prefix(), config.get_part_suffix()
    ('orders', '.txt')
    """

    part_prefix: str = "part"
    part_suffix: str = ""

    @staticmethod
    def builder() -> OutputFileConfigBuilder:
        """Begins a configuration; ``build()`` ends it."""
        return OutputFileConfigBuilder()

    def get_part_prefix(self) -> str:
        """How the names of files begin."""
        return self.part_prefix

    def get_part_suffix(self) -> str:
        """How the names of files end."""
        return self.part_suffix


class OutputFileConfigBuilder:
    """Builds an ``OutputFileConfig``; by default the prefix is ``part`` and the suffix is empty."""

    def __init__(self) -> None:
        self.part_prefix = "part"
        self.part_suffix = ""

    def with_part_prefix(self, prefix: str) -> OutputFileConfigBuilder:
        self.part_prefix = prefix
        return self

    def with_part_suffix(self, suffix: str) -> OutputFileConfigBuilder:
        self.part_suffix = suffix
        return self

    def build(self) -> OutputFileConfig:
        return OutputFileConfig(self.part_prefix, self.part_suffix)


OutputFileConfig.OutputFileConfigBuilder = OutputFileConfigBuilder  # type: ignore[attr-defined]
