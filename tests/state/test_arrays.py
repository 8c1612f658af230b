"""Values as Arrow columns for people: against what each value should look like, taken by itself."""

from __future__ import annotations

import datetime
import decimal
import enum
import pickle
import uuid
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from millrace.checkpoint.columns import decode, encode
from millrace.common import Row, RowKind
from millrace.state.open_savepoint import without_classes
from millrace.state.state_columns import Many, Nothing, Opaque, Pairs, Record, arrays_of, fields_of, shape_of, unify

UTC = datetime.timezone.utc


class Suit(enum.Enum):
    HEARTS = 1
    SPADES = 2


@dataclass
class Card:
    suit: Suit
    points: int | None
    notes: list[str]


class Pair(NamedTuple):
    left: int
    right: Any


class Thing:
    def __init__(self, text: str) -> None:
        self.text = text

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Thing) and self.text == other.text

    def __repr__(self) -> str:
        return f"Thing({self.text!r})"


def shown(value: Any) -> Any:
    """What somebody expects to see, value by value; no column has to be thought of."""
    if value is None or isinstance(value, (bool, str, bytes, float)):
        return value
    if isinstance(value, enum.Enum):
        return value.name
    if isinstance(value, int):
        return value if -(2**63) <= value < 2**63 else str(value)
    if isinstance(value, (decimal.Decimal, uuid.UUID)):
        return str(value)
    if isinstance(value, Card):
        return {name: shown(part) for name, part in vars(value).items()}
    if isinstance(value, Pair):
        return {name: shown(part) for name, part in value._asdict().items()}
    if isinstance(value, Row):
        return {name: shown(part) for name, part in value.as_dict().items()}
    if isinstance(value, tuple):
        return {f"f{place}": shown(part) for place, part in enumerate(value)}
    if isinstance(value, list):
        return list(map(shown, value))
    if isinstance(value, dict):
        return {key: shown(part) for key, part in value.items()}
    return value


INTS = st.integers(-(2**62), 2**62)
TEXTS = st.text(st.characters(codec="utf-8"), max_size=5)
CARDS = st.builds(Card, st.sampled_from(Suit), st.none() | INTS, st.lists(TEXTS, max_size=3))
KINDS: dict[str, st.SearchStrategy[Any]] = {
    "bool": st.booleans(),
    "int": INTS,
    "big": st.integers(2**64, 2**80),
    "float": st.floats(allow_nan=False),
    "text": TEXTS,
    "bytes": st.binary(max_size=5),
    "date": st.dates(),
    "time": st.times().map(lambda time: time.replace(fold=0)),
    "datetime": st.datetimes().map(lambda time: time.replace(fold=0)),
    "delta": st.timedeltas(datetime.timedelta(days=-1_000), datetime.timedelta(days=1_000)),
    "decimal": st.decimals(allow_nan=False, allow_infinity=False, places=2),
    "uuid": st.uuids(),
    "enum": st.sampled_from(Suit),
    "tuple": st.tuples(INTS, TEXTS),
    "list": st.lists(st.tuples(INTS, st.none() | TEXTS), min_size=1, max_size=3),
    "dict": st.builds(lambda a, b: {"a": a, "b": b}, INTS, TEXTS),
    "dataclass": CARDS,
    "named tuple": st.builds(Pair, INTS, TEXTS),
    "row": st.builds(lambda a, b: Row(a=a, b=b), INTS, st.none() | TEXTS),
    "nested": st.tuples(CARDS, st.lists(CARDS, max_size=2)),
}


def table(*files: list[Any]) -> pa.Table:
    """The values of several files as one table with the column ``value``."""
    encoded = [encode(values) for values in files]
    shapes = [("value", unify(shape_of(described) for _, described in encoded))]
    schema = pa.schema(fields_of(shapes))
    tables = [
        pa.table(arrays_of([(column, shape) for _, shape in shapes], len(values), {}), schema)
        for values, column in zip(files, encoded)
    ]
    return pa.concat_tables(tables)


@pytest.mark.parametrize("kind", KINDS)
@given(data=st.data())
def test_values_look_as_they_are(kind: str, data: st.DataObject) -> None:
    values = st.lists(KINDS[kind] | st.none(), max_size=5)
    files = data.draw(st.lists(values, min_size=1, max_size=3))
    found = table(*files)
    assert found.schema.names == ["value"]
    assert found["value"].to_pylist() == [shown(value) for values in files for value in values]


THINGS = st.builds(Thing, TEXTS)
ANYTHING = st.one_of(*KINDS.values(), st.none(), THINGS, st.builds(Pair, INTS, THINGS))


@given(st.lists(st.lists(ANYTHING, max_size=4), min_size=1, max_size=3))
def test_values_of_any_kinds_are_text_with_pickles_if_they_must(files: list[list[Any]]) -> None:
    everything = [value for values in files for value in values]
    found = table(*files)
    if found.schema.names == ["value", "value_pickle"]:
        assert found["value"].to_pylist() == [None if value is None else repr(value) for value in everything]
        pickles = found["value_pickle"].to_pylist()
        assert [stored if stored is None else pickle.loads(stored) for stored in pickles] == everything
    else:
        texts = found["value"].to_pylist()
        assert len(texts) == len(everything)
        assert [text is None for text in texts] == [value is None for value in everything]


def test_a_field_that_arrow_has_no_type_for_is_opaque_by_itself() -> None:
    found = table([Pair(1, Thing("a"))], [Pair(2, None)], [Pair(3, 4)])
    assert found["value"].type.names == ["left", "right", "right_pickle"]
    rights = [(row["left"], row["right"]) for row in found["value"].to_pylist()]
    assert rights == [(1, "Thing('a')"), (2, None), (3, "4")]
    assert pickle.loads(found["value"][2]["right_pickle"].as_py()) == 4


def test_the_name_of_a_column_of_pickles_is_not_taken() -> None:
    found = table([{"a": Thing("x"), "a_pickle": 1}])
    assert found["value"].type.names == ["a", "a_pickle_", "a_pickle"]


def test_files_with_different_records_are_opaque() -> None:
    found = table([(1, "a")], [(1, "a", 2)])
    assert found["value"].to_pylist() == ["(1, 'a')", "(1, 'a', 2)"]


def test_lists_and_maps_of_different_things_are_opaque() -> None:
    assert table([[1, 2]], [["a"]])["value"].to_pylist() == ["[1, 2]", "['a']"]
    assert table([{1: 2}], [{1: "a"}])["value"].to_pylist() == ["{1: 2}", "{1: 'a'}"]


def test_parts_of_arrays_will_do() -> None:
    """Lists and maps that have to be brought into another shape, from the middle of an array."""
    lists = [[Pair(0, 0)], [Pair(1, 2), Pair(3, 4)], None, [Pair(5, 6)]]
    maps = [{"z": Pair(0, 0)}, {"a": Pair(1, 2), "b": Pair(3, 4)}, None, {"c": Pair(5, 6)}]
    other = encode([Pair(0, Thing("x"))])[1]
    for values, shape in ((lists, Many), (maps, Pairs)):
        array, described = encode(values)
        element = unify([shape_of(described.get("element") or described["value"]), shape_of(other)])
        wanted = Many(element) if shape is Many else Pairs(shape_of({"form": "str"}), element)
        (found,) = arrays_of([((array.slice(1), described), wanted)], 3, {})
        rights = [
            None if part is None else [each["right"] for each in (part if shape is Many else dict(part).values())]
            for part in found.to_pylist()
        ]
        assert rights == [["2", "4"], None, ["6"]]


def test_kinds_of_rows_are_shown_where_they_differ() -> None:
    rows = [Row.of_kind(RowKind.DELETE, a=1), Row(a=2)]
    assert table(rows)["value"].to_pylist() == [{"a": 1, "row kind": "DELETE"}, {"a": 2, "row kind": "INSERT"}]
    assert table([Row(1, 2)])["value"].to_pylist() == [{"f0": 1, "f1": 2}]


def test_numbers_of_numpy_keep_their_type() -> None:
    assert table([np.float32(1.5)])["value"].type == pa.float32()
    assert table([np.uint64(2**63)])["value"].to_pylist() == [2**63]


def test_times_in_utc_are_such() -> None:
    found = table([datetime.datetime(2024, 1, 2, tzinfo=UTC)])
    assert found["value"].type == pa.timestamp("us", "UTC")


def test_unify_takes_what_is_nothing_for_anything() -> None:
    number, nothing = shape_of(encode([1])[1]), shape_of(encode([None])[1])
    assert nothing == Nothing()
    assert unify([nothing, number, nothing]) == number
    assert unify([]) == Nothing()
    text = shape_of(encode(["a"])[1])
    record = shape_of(encode([(1, None)])[1])
    assert unify([record, shape_of(encode([(None, "a")])[1])]) == Record((("f0", number), ("f1", text)))
    assert unify([number, record]) == Opaque()


def test_values_without_their_classes() -> None:
    values = [(Card(Suit.HEARTS, 1, ["x"]), Pair(1, Thing("a")))]
    array, described = encode(values)
    ((card, pair),) = decode(array, without_classes(described))
    assert card == {"suit": "HEARTS", "points": 1, "notes": ["x"]}
    assert pair["left"] == 1
    assert repr(pair["right"]) == f"<{Thing.__module__}.Thing text='a'>"
    ((card, pair),) = decode(array, without_classes(described, hashable=True))
    assert card == ("HEARTS", 1, ["x"]) and pair[0] == 1
    array, described = encode([{Pair(1, 2): Pair(3, 4)}, {}])
    assert decode(array, without_classes(described)) == [{(1, 2): {"left": 3, "right": 4}}, {}]


def test_what_cannot_be_unpickled_does_not_hinder_the_rest(monkeypatch: pytest.MonkeyPatch) -> None:
    array, described = encode([Thing("a"), None])
    monkeypatch.setattr(Thing, "__module__", "gone")
    missing = {**described, "classes": [{**each, "name": "gone:Thing"} for each in described["classes"]]}
    texts, pickles = arrays_of([((array, missing), Opaque())], 2, {})
    assert texts[0].as_py().startswith("<gone.Thing: ")
    assert texts[1].as_py() is None and pickles[0].as_py() == array[0].as_py()
