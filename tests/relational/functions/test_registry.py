"""Calls of built-in functions: which registration takes the arguments, and what users are told if none does."""

from __future__ import annotations

import pytest
from tests.ids import shown

from millrace.relational import types as t
from millrace.relational.functions.registry import (
    INT_TYPE,
    STRING,
    TEXT,
    WHOLE,
    SignatureError,
    call,
    find_scalar,
    same_type,
    scalar,
    scalar_names,
    takes,
)
from millrace.relational.rex import Call, Literal, Ref

INT, BIG = t.IntType(), t.BigIntType()
NUMBER, TEXT_COLUMN = Ref(INT.not_null(), 0), Ref(STRING, 1)


def test_an_alias_is_the_function() -> None:
    assert find_scalar("MOD") is find_scalar("%")
    assert call("MOD", [NUMBER, NUMBER]).function == "%"


def test_the_first_registration_that_takes_the_arguments_is_called() -> None:
    assert call("HEX", [NUMBER]).function == "HEX"
    assert call("HEX", [TEXT_COLUMN]).function == "HEX TEXT"


def test_what_no_registration_takes_is_refused_with_all_that_they_take() -> None:
    with pytest.raises(SignatureError) as raised:
        call("HEX", [Ref(t.BooleanType(), 0)])
    assert str(raised.value) == "HEX does not take (BOOLEAN): it takes (BIGINT), or it takes (STRING)"


def test_arguments_are_cast_to_what_the_function_takes() -> None:
    typed = call("+", [NUMBER, Ref(BIG, 1)])
    assert typed == Call(BIG, "+", (Call(BIG.not_null(), "CAST", (NUMBER,)), Ref(BIG, 1)))


def test_names_are_registered_once() -> None:
    with pytest.raises(ValueError, match="function UPPER is registered twice"):
        scalar("UPPER", takes(TEXT, result=STRING))(lambda call, args, around: None)


def test_an_unknown_function() -> None:
    assert find_scalar("NO_SUCH") is None
    with pytest.raises(KeyError):
        call("NO_SUCH", [])


def test_all_names_are_in_upper_case() -> None:
    assert [name for name in scalar_names() if name != name.upper()] == []


NULL = Literal(t.NullType(), None)
TAKEN = [
    (takes(TEXT, WHOLE, optional=1, result=STRING), [TEXT_COLUMN], STRING),
    (takes(TEXT, WHOLE, optional=1, result=STRING), [NULL, NULL], STRING),
    (takes(WHOLE, result=INT_TYPE), [NUMBER], INT.not_null()),
    (takes(WHOLE, result=INT_TYPE, nullable=True), [NUMBER], INT),
    (takes(TEXT, variadic=True, result=STRING), [TEXT_COLUMN] * 3, STRING),
    (takes(result=STRING, nullable=False), [], STRING.not_null()),
    (same_type(), [NUMBER, Ref(BIG, 1)], BIG),
    (same_type(skip=1, result=INT_TYPE), [TEXT_COLUMN, NUMBER, NUMBER], INT),
]


@pytest.mark.parametrize("case", TAKEN, ids=shown)
def test_types_of_results(case: tuple[object, list[object], t.DataType]) -> None:
    infer, args, wanted = case
    assert infer(args, {}).result == wanted  # type: ignore[operator]


REFUSED = [
    (takes(TEXT, WHOLE, optional=1, result=STRING), [], "it takes (STRING [, INTEGER])"),
    (takes(TEXT, WHOLE, optional=1, result=STRING), [TEXT_COLUMN] * 2, "it takes (STRING [, INTEGER])"),
    (takes(TEXT, variadic=True, result=STRING), [NUMBER], "it takes (STRING, ...)"),
    (same_type(least=2, most=2), [NUMBER], "it takes 2 arguments"),
    (same_type(least=2), [NUMBER], "it takes 2 or more arguments"),
    (same_type(), [NUMBER, TEXT_COLUMN], "it takes arguments with a common type: CAST them to one"),
]


@pytest.mark.parametrize("case", REFUSED, ids=shown)
def test_arguments_that_are_refused(case: tuple[object, list[object], str]) -> None:
    infer, args, message = case
    with pytest.raises(SignatureError) as raised:
        infer(args, {})  # type: ignore[operator]
    assert str(raised.value) == message
