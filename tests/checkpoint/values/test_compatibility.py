"""Which declared types may follow which, and what becomes of the values."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

import pytest

from millrace.checkpoint.compatibility import adapter, compare_types, describe_type, type_text
from millrace.common.typeinfo import ExternalTypeInfo, LocalTimeTypeInfo, TypeInformation, Types
from millrace.common.types import Row, RowKind

INT, LONG, STRING, DOUBLE, ANY = Types.INT(), Types.LONG(), Types.STRING(), Types.DOUBLE(), Types.PICKLED_BYTE_ARRAY()


def named(**fields: TypeInformation) -> TypeInformation:
    return Types.ROW_NAMED(list(fields), list(fields.values()))


ROW = named(id=INT, name=STRING)

ALL_TYPES = [
    Types.STRING(),
    Types.BYTE(),
    Types.BOOLEAN(),
    Types.SHORT(),
    INT,
    LONG,
    Types.FLOAT(),
    DOUBLE,
    Types.CHAR(),
    Types.BIG_INT(),
    Types.BIG_DEC(),
    Types.INSTANT(),
    Types.SQL_DATE(),
    Types.SQL_TIME(),
    Types.SQL_TIMESTAMP(),
    ANY,
    Types.ROW([INT, STRING]),
    ROW,
    Types.TUPLE([INT, Types.TUPLE([STRING])]),
    Types.PRIMITIVE_ARRAY(Types.BYTE()),
    Types.PRIMITIVE_ARRAY(INT),
    Types.MAP(STRING, Types.LIST(ROW)),
    Types.LIST(INT),
]


@pytest.mark.parametrize("type_info", ALL_TYPES, ids=str)
def test_a_type_is_the_same_as_itself(type_info: TypeInformation) -> None:
    described = describe_type(type_info)
    assert json.loads(json.dumps(described)) == described
    assert compare_types(described, described) == "same"
    assert adapter(described, described) is None


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (ExternalTypeInfo(INT), INT),
        (Types.LIST(INT), Types.BASIC_ARRAY(INT)),
        (Types.OBJECT_ARRAY(ROW), Types.LIST(ROW)),
        (Types.SQL_DATE(), LocalTimeTypeInfo(LocalTimeTypeInfo.TimeType.LOCAL_DATE)),
        (Types.SQL_TIMESTAMP(), LocalTimeTypeInfo(LocalTimeTypeInfo.TimeType.LOCAL_DATE_TIME)),
    ],
    ids=str,
)
def test_types_with_the_same_values_are_the_same(old: TypeInformation, new: TypeInformation) -> None:
    assert compare_types(describe_type(old), describe_type(new)) == "same"


# old, new, verdict
VERDICTS = [
    (INT, LONG, "evolves: INT becomes LONG"),
    (Types.BYTE(), Types.BIG_INT(), "evolves: BYTE becomes BIG_INT"),
    (LONG, DOUBLE, "evolves: LONG becomes DOUBLE"),
    (Types.FLOAT(), DOUBLE, "evolves: FLOAT becomes DOUBLE"),
    (Types.CHAR(), STRING, "evolves: CHAR becomes STRING"),
    (LONG, INT, "incompatible: LONG can't become INT"),
    (DOUBLE, LONG, "incompatible: DOUBLE can't become LONG"),
    (LONG, STRING, "incompatible: LONG can't become STRING"),
    (STRING, Types.LIST(STRING), "incompatible: STRING can't become LIST<STRING>"),
    (Types.PRIMITIVE_ARRAY(Types.BYTE()), Types.LIST(Types.BYTE()), "incompatible: BYTES can't become LIST<BYTE>"),
    (ANY, LONG, "evolves: PICKLED becomes LONG, if the stored values are such"),
    (ROW, ANY, "evolves: ROW<id INT, name STRING> becomes PICKLED, if the stored values are such"),
    (ROW, named(id=INT, name=STRING, age=INT), "evolves: new fields age are None"),
    (ROW, named(name=STRING), "evolves: fields id are dropped"),
    (ROW, named(name=STRING, id=INT), "evolves: another order of fields"),
    (ROW, named(id=LONG, name=STRING), "evolves: id: INT becomes LONG"),
    (ROW, named(id=STRING, name=STRING), "incompatible: id: INT can't become STRING"),
    (ROW, named(id=STRING, age=INT), "incompatible: id: INT can't become STRING"),
    (ROW, named(age=INT, id=LONG), "evolves: new fields age are None; fields name are dropped; id: INT becomes LONG"),
    (ROW, Types.TUPLE([INT, STRING]), "incompatible: ROW<id INT, name STRING> can't become TUPLE<INT, STRING>"),
    (Types.ROW([INT]), Types.ROW([INT, INT]), "evolves: new fields f1 are None"),
    (Types.ROW([INT, STRING]), ROW, "evolves: fields get their names"),
    (ROW, Types.ROW([INT, STRING]), "evolves: fields lose their names"),
    (
        Types.ROW([INT]),
        ROW,
        "incompatible: fields without names can't be told apart: ROW<f0 INT>, ROW<id INT, name STRING>",
    ),
    (Types.TUPLE([INT]), Types.TUPLE([LONG]), "evolves: f0: INT becomes LONG"),
    (
        Types.TUPLE([INT]),
        Types.TUPLE([INT, INT]),
        "incompatible: a tuple of 1 can't become one of 2; use a Row with names",
    ),
    (
        Types.LIST(Types.MAP(STRING, ROW)),
        Types.LIST(Types.MAP(STRING, named(id=STRING))),
        "incompatible: element.value.id: INT can't become STRING",
    ),
    (Types.MAP(INT, INT), Types.MAP(LONG, INT), "evolves: key: INT becomes LONG"),
]


@pytest.mark.parametrize(("old", "new", "verdict"), VERDICTS, ids=str)
def test_what_may_follow(old: TypeInformation, new: TypeInformation, verdict: str) -> None:
    assert compare_types(describe_type(old), describe_type(new)) == verdict


def test_all_that_is_incompatible_is_told() -> None:
    old, new = named(a=INT, b=INT, c=INT), named(a=STRING, b=STRING, c=LONG)
    assert compare_types(describe_type(old), describe_type(new)) == (
        "incompatible: a: INT can't become STRING; b: INT can't become STRING"
    )


GROWN = named(age=INT, name=STRING, id=DOUBLE)


@pytest.mark.parametrize(
    ("old", "new", "before", "after"),
    [
        (ROW, GROWN, Row(id=1, name="a"), Row(age=None, name="a", id=1.0)),
        (ROW, GROWN, Row(name="a", id=None), Row(age=None, name="a", id=None)),
        (ROW, GROWN, Row(1, "a"), Row(None, "a", 1.0)),
        (ROW, GROWN, {"id": 1, "name": "a"}, {"age": None, "name": "a", "id": 1.0}),
        (Types.ROW([INT]), Types.ROW([LONG]), {"id": 1}, {"id": 1}),
        (ROW, GROWN, None, None),
        (ROW, GROWN, "no row", "no row"),
        (Types.LIST(INT), Types.LIST(DOUBLE), "no list", "no list"),
        (Types.MAP(INT, INT), Types.MAP(DOUBLE, INT), None, None),
        (ANY, GROWN, Row(id=1, old=2), Row(age=None, name=None, id=1)),
        (ROW, Types.ROW([INT, STRING]), Row(id=1, name="a"), Row(id=1, name="a")),
        (Types.ROW([INT, STRING]), ROW, Row(1, "a"), Row(id=1, name="a")),
        (Types.ROW([INT, STRING]), Types.ROW([INT]), Row(1, "a"), Row(1)),
        (Types.ROW([INT]), Types.ROW([INT, INT]), Row(1), Row(1, None)),
        (INT, DOUBLE, 3, 3.0),
        (INT, DOUBLE, True, True),
        (INT, Types.BIG_DEC(), 3, Decimal(3)),
        (Types.LIST(INT), Types.LIST(DOUBLE), [1, None], [1.0, None]),
        (
            Types.MAP(INT, ROW),
            Types.MAP(DOUBLE, GROWN),
            {1: Row(id=2, name="b")},
            {1.0: Row(age=None, name="b", id=2.0)},
        ),
        (Types.TUPLE([INT, INT]), Types.TUPLE([LONG, DOUBLE]), (1, 2), (1, 2.0)),
        (Types.TUPLE([INT, INT]), Types.TUPLE([LONG, DOUBLE]), (1, 2, 3), (1, 2, 3)),
        (
            named(id=INT, inner=ROW),
            named(inner=named(name=STRING), id=INT),
            Row(id=1, inner=Row(id=2, name="x")),
            Row(inner=Row(name="x"), id=1),
        ),
    ],
    ids=str,
)
def test_values_follow_their_type(old: TypeInformation, new: TypeInformation, before: Any, after: Any) -> None:
    convert = adapter(describe_type(old), describe_type(new))
    assert convert is not None
    found = convert(before)
    assert repr(found) == repr(after)
    assert type(found) is type(after)


def test_the_kind_of_a_row_stays() -> None:
    convert = adapter(describe_type(ROW), describe_type(GROWN))
    assert convert is not None
    assert convert(Row.of_kind(RowKind.DELETE, id=1, name="a")).get_row_kind() is RowKind.DELETE


@pytest.mark.parametrize(("old", "new"), [(INT, LONG), (Types.LIST(INT), Types.LIST(LONG)), (ROW, ANY)])
def test_values_that_fit_are_left_alone(old: TypeInformation, new: TypeInformation) -> None:
    assert adapter(describe_type(old), describe_type(new)) is None


def test_values_that_were_declared_to_be_anything_are_looked_at() -> None:
    checked = adapter(describe_type(ANY), describe_type(INT))
    assert checked is not None and checked(3) == 3
    with pytest.raises(TypeError, match="a stored value is 'three', and not INT"):
        checked("three")


def test_types_as_people_read_them() -> None:
    described = describe_type(Types.MAP(STRING, Types.LIST(named(a=Types.TUPLE([INT, DOUBLE]), b=ANY))))
    assert type_text(described) == "MAP<STRING, LIST<ROW<a TUPLE<INT, DOUBLE>, b PICKLED>>>"
