"""``datagen``: rows of sequences and random values, a column at a time.

There is a generator for each data type; it makes any part of its column by itself, so subtasks need nothing of each
other.
"""

from __future__ import annotations

import secrets
import time
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from millrace.common.configuration import to_duration
from millrace.common.source import Source
from millrace.connectors.generated_sources import DataGeneratorSource, GeneratorFunction, RateLimiterStrategy
from millrace.relational import types as t
from millrace.relational.rex import Rex
from millrace.relational.rows import Rows, record_batch
from millrace.relational.sources import TableContext, TableFactory, TableSource, whole_number
from millrace.relational.type_table import ByFamily, Family, arrow_type, family_of
from millrace.relational.types import DataType

Seed = tuple[int, ...]
_HEX = np.frombuffer(b"0123456789abcdef", np.uint8)
_LENGTH, _PARTS = 100, 3
"""default lengths of text, and of arrays and maps"""
_BOUNDS = {pa.float32(): (-3.4028235e38, 3.4028235e38), pa.float64(): (-1e308, 1e308)}
_IN_SEQUENCE = (Family.INTEGER, Family.APPROXIMATE, Family.DECIMAL, Family.TEXT)


class Generator(ABC):
    """Makes parts of one column."""

    @abstractmethod
    def column(self, start: int, length: int, seed: Seed) -> pa.Array:
        """The values of rows ``start`` to ``start + length``; the same arguments give the same values."""


@dataclass(frozen=True)
class SequenceGenerator(Generator):
    """``first``, ``first`` + 1, ... up to ``last``."""

    type: DataType
    first: int
    last: int

    @property
    def length(self) -> int:
        return self.last - self.first + 1

    def column(self, start: int, length: int, seed: Seed) -> pa.Array:
        numbers = pa.array(np.arange(self.first + start, self.first + start + length, dtype=np.int64))
        return numbers.cast(arrow_type(self.type))


@dataclass(frozen=True)
class RandomGenerator(Generator):
    """Random values, some of them NULL."""

    type: DataType
    options: Mapping[str, str] = field(default_factory=dict)
    null_rate: float = 0.0

    def column(self, start: int, length: int, seed: Seed) -> pa.Array:
        random = np.random.default_rng(seed)
        found = _values(self.type, self.options, length, random)
        if self.null_rate <= 0:
            return found
        nulls = pa.array(random.random(length) < self.null_rate)
        return pc.if_else(nulls, pa.scalar(None, found.type), found)


def generator(data_type: DataType, options: Mapping[str, str], where: str) -> Generator:
    """The generator that a column's options describe.

    :raises ValueError: an unknown option, or a value that does not fit.
    """
    options = dict(options)
    kind = options.pop("kind", "random")
    if kind == "sequence":
        if set(options) != {"start", "end"}:
            raise ValueError(f"{where}: a sequence has 'start' and 'end', and these are given: {sorted(options)}")
        if family_of(data_type) not in _IN_SEQUENCE:
            raise ValueError(f"{where}: a sequence is a number or text, not {data_type}")
        return SequenceGenerator(data_type, int(options["start"]), int(options["end"]))
    if kind != "random":
        raise ValueError(f"{where}: kind is 'random' or 'sequence', not '{kind}'")
    known = ("min", "max", "length", "max-past", "null-rate", "var-len")
    unknown = [name for name in options if name.split(".")[-1] not in known]
    if unknown:
        raise ValueError(f"{where}: no option '{unknown[0]}'; random values have {', '.join(known)}")
    rate = float(options.pop("null-rate", "0"))
    made = RandomGenerator(data_type, options, rate if data_type.is_nullable else 0.0)
    try:
        made.column(0, 1, (0,))
    except NotImplementedError:
        raise
    except ValueError as error:
        raise ValueError(f"{where}: {error}") from None
    return made


def _values(data_type: DataType, options: Mapping[str, str], length: int, random: np.random.Generator) -> pa.Array:
    make = _MAKERS.get(family_of(data_type))
    if make is None:
        raise NotImplementedError(f"datagen makes no values of {data_type}: compute the column of another one")
    found: pa.Array = make(data_type, options, length, random)
    return found


def _bool(data_type: DataType, options: Mapping[str, str], length: int, random: np.random.Generator) -> pa.Array:
    return pa.array(random.random(length) < 0.5)


def _integers(
    data_type: t.IntegralType, options: Mapping[str, str], length: int, random: np.random.Generator
) -> pa.Array:
    limit = 2 ** (data_type.bits - 1)
    low, high = int(options.get("min", -limit)), int(options.get("max", limit - 1))
    numbers = random.integers(low, high, length, dtype=np.int64, endpoint=True)
    return pa.array(numbers).cast(arrow_type(data_type))


def _floats(data_type: DataType, options: Mapping[str, str], length: int, random: np.random.Generator) -> pa.Array:
    bounds = _BOUNDS[arrow_type(data_type)]
    low, high = float(options.get("min", bounds[0])), float(options.get("max", bounds[1]))
    share = random.random(length)
    # Not low + share * (high - low): the difference of the largest numbers is infinite.
    return pa.array(low * (1 - share) + high * share).cast(arrow_type(data_type), safe=False)


def _decimals(
    data_type: t.DecimalType, options: Mapping[str, str], length: int, random: np.random.Generator
) -> pa.Array:
    unit = Decimal(1).scaleb(-data_type.scale)
    limit = Decimal(10) ** (data_type.precision - data_type.scale) - unit
    low, high = Decimal(options.get("min", -limit)), Decimal(options.get("max", limit))
    values = [(low + (high - low) * Decimal(share)).quantize(unit) for share in random.random(length).tolist()]
    return pa.array(values, arrow_type(data_type))


def _lengths(options: Mapping[str, str], default: int, length: int, random: np.random.Generator) -> Any:
    size = int(options.get("length", default))
    if options.get("var-len", "false").lower() == "true":
        return random.integers(1, size, length, endpoint=True)
    return np.full(length, size)


def _offsets(lengths: Any) -> Any:
    return np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)


def _texts(data_type: t.VarCharType, options: Mapping[str, str], length: int, random: np.random.Generator) -> pa.Array:
    default = _LENGTH if data_type.length == t.MAX_LENGTH else data_type.length
    offsets = _offsets(_lengths(options, default, length, random))
    characters = _HEX[random.integers(0, 16, int(offsets[-1]))]
    return pa.StringArray.from_buffers(length, pa.py_buffer(offsets.tobytes()), pa.py_buffer(characters.tobytes()))


def _bytes(
    data_type: t.VarBinaryType, options: Mapping[str, str], length: int, random: np.random.Generator
) -> pa.Array:
    default = _LENGTH if data_type.length == t.MAX_LENGTH else data_type.length
    offsets = _offsets(_lengths(options, default, length, random))
    content = random.bytes(int(offsets[-1]))
    return pa.Array.from_buffers(pa.binary(), length, [None, pa.py_buffer(offsets.tobytes()), pa.py_buffer(content)])


def _moments(data_type: DataType, options: Mapping[str, str], length: int, random: np.random.Generator) -> pa.Array:
    """Now, or up to max-past before: the one thing that is not the same in every run."""
    past = to_duration(options.get("max-past", "0 s")).to_millis() * 1000
    now = time.time_ns() // 1000
    micros = now - (random.integers(0, past, length, endpoint=True) if past else np.zeros(length, np.int64))
    digits = 10 ** max(0, 6 - data_type.precision)  # type: ignore[attr-defined]
    return pa.array(micros // digits * digits).cast(arrow_type(data_type))


def _days(data_type: DataType, options: Mapping[str, str], length: int, random: np.random.Generator) -> pa.Array:
    past = to_duration(options.get("max-past", "0 s")).to_millis() // 86_400_000
    today = time.time_ns() // 86_400_000_000_000
    days = today - random.integers(0, past, length, endpoint=True)
    return pa.array(days.astype(np.int32)).cast(pa.date32())


def _times(data_type: t.TimeType, options: Mapping[str, str], length: int, random: np.random.Generator) -> pa.Array:
    unit = 10 ** max(0, 6 - data_type.precision)
    return pa.array(random.integers(0, 86_400_000_000, length) // unit * unit).cast(pa.time64("us"))


def _spans(data_type: DataType, options: Mapping[str, str], length: int, random: np.random.Generator) -> pa.Array:
    low, high = int(options.get("min", 0)), int(options.get("max", 120))
    numbers = random.integers(low, high, length, dtype=np.int64, endpoint=True)
    if family_of(data_type) is Family.MONTHS:
        return pa.array(numbers).cast(pa.int32())
    return pa.array(numbers * 1_000_000).cast(pa.duration("us"))


def _inner(options: Mapping[str, str], name: str) -> dict[str, str]:
    return {key.removeprefix(f"{name}."): value for key, value in options.items() if key.startswith(f"{name}.")}


def _arrays(data_type: t.ArrayType, options: Mapping[str, str], length: int, random: np.random.Generator) -> pa.Array:
    offsets = _offsets(_lengths(options, _PARTS, length, random))
    values = _values(data_type.element_type, _inner(options, "element"), int(offsets[-1]), random)
    return pa.ListArray.from_arrays(pa.array(offsets), values)


def _maps(
    data_type: t.MapType | t.MultisetType, options: Mapping[str, str], length: int, random: np.random.Generator
) -> pa.Array:
    multiset = isinstance(data_type, t.MultisetType)
    offsets = _offsets(_lengths(options, _PARTS, length, random))
    count = int(offsets[-1])
    key_type = data_type.element_type if isinstance(data_type, t.MultisetType) else data_type.key_type
    keys = _values(key_type, _inner(options, "element" if multiset else "key"), count, random)
    if isinstance(data_type, t.MapType):
        items = _values(data_type.value_type, _inner(options, "value"), count, random)
    else:
        items = pa.array(random.integers(1, 10, count).astype(np.int32))
    return pa.MapArray.from_arrays(pa.array(offsets), keys, items)


def _rows(data_type: t.RowType, options: Mapping[str, str], length: int, random: np.random.Generator) -> pa.Array:
    parts = [_values(each.data_type, _inner(options, each.name), length, random) for each in data_type]
    return pa.StructArray.from_arrays(parts, data_type.names)


_MAKERS: ByFamily = {
    Family.BOOLEAN: _bool,
    Family.INTEGER: _integers,
    Family.APPROXIMATE: _floats,
    Family.DECIMAL: _decimals,
    Family.TEXT: _texts,
    Family.BYTES: _bytes,
    **dict.fromkeys((Family.TIMESTAMP, Family.INSTANT), _moments),
    Family.DATE: _days,
    Family.TIME: _times,
    **dict.fromkeys((Family.MONTHS, Family.SPAN), _spans),
    Family.ARRAY: _arrays,
    Family.MAP: _maps,
    Family.ROW: _rows,
}


BATCH = 8192
AT_ONCE = 16
"""batches"""
DEFAULT_RATE = 10_000
"""rows a second of a streaming query"""


@dataclass(frozen=True)
class Batches(GeneratorFunction[Rows]):
    """Makes batch number n. The same number gives the same rows, so that a repeated epoch repeats them."""

    generators: tuple[tuple[int, Generator], ...]
    """columns of the table with what makes them"""
    size: int
    count: int | None
    seed: int

    def map(self, index: int) -> Rows:
        start = index * self.size
        length = self.size if self.count is None else min(self.size, self.count - start)
        columns = [each.column(start, length, (self.seed, place, index)) for place, each in self.generators]
        return Rows(record_batch(columns, length))


class DatagenSource(TableSource):
    """Generated rows. Ends after ``count`` rows, never if that is None.

    :param rate: rows a second over all subtasks, None for no limit.
    """

    def __init__(self, generators: Sequence[Generator], count: int | None, rate: int | None, seed: int) -> None:
        self._generators = tuple(generators)
        self._count = count
        self._rate = rate
        self._seed = seed
        self.bounded = count is not None

    def stream(self, columns: Sequence[int], filters: Sequence[Rex] = ()) -> Source[Rows, Any]:
        size = BATCH if self._rate is None else max(1, min(BATCH, self._rate // 20))
        chosen = tuple((index, self._generators[index]) for index in columns)
        batches = None if self._count is None else -(-self._count // size)
        limit = None if self._rate is None else RateLimiterStrategy.per_second(self._rate / size)
        return DataGeneratorSource(Batches(chosen, size, self._count, self._seed), batches, limit, at_once=AT_ONCE)


class DatagenFactory(TableFactory):
    """``'number-of-rows'``: without it, and without a sequence, there is no end. ``'rows-per-second'``: 10,000 unless
    it is set, in streaming. ``'seed'``: makes the rows the same in every run. ``'fields.<name>.<option>'``: kind
    ('random', 'sequence'), min, max, start, end, length, null-rate, max-past, var-len."""

    identifier = "datagen"
    optional = ("number-of-rows", "rows-per-second", "seed", "fields.", "scan.parallelism")

    def source(self, table: TableContext) -> TableSource:
        table.check_readable()
        names = [column.name for column in table.columns]
        fields: dict[str, dict[str, str]] = {}
        for key, value in table.options.items():
            if key.startswith("fields."):
                name, _, option = key.removeprefix("fields.").partition(".")
                if name not in names:
                    raise ValueError(
                        f"table {table.summary}: '{key}' names no column; the columns are {', '.join(names)}"
                    )
                fields.setdefault(name, {})[option] = value
        generators = [
            generator(column.type, fields.get(column.name, {}), f"table {table.summary}, column '{column.name}'")
            for column in table.columns
        ]
        lengths = [each.length for each in generators if isinstance(each, SequenceGenerator)]
        if "number-of-rows" in table.options:
            lengths.append(_number(table, "number-of-rows", 0))
        rate = _number(table, "rows-per-second", DEFAULT_RATE) if table.streaming else None
        seed = _number(table, "seed", secrets.randbits(63))
        return DatagenSource(generators, min(lengths) if lengths else None, rate, seed)


def _number(table: TableContext, option: str, default: int) -> int:
    given = table.options.get(option)
    if given is None:
        return default
    if not given.isdigit():
        raise ValueError(f"table {table.summary}: '{option}' is a whole number, not '{given}'")
    try:
        return whole_number(option, given)
    except ValueError as error:
        raise ValueError(f"table {table.summary}: '{option}': {error}") from None
