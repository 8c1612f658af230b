from __future__ import annotations

import copy
import datetime
import pickle
from typing import Any

import pytest
from tests.ids import shown

from millrace.common.configuration import ConfigOption, ConfigOptions, Configuration
from millrace.common.time import Duration, Time


def sample() -> Configuration:
    return (
        Configuration()
        .set_string("text", "x")
        .set_string("number", "12")
        .set_string("truth", "TRUE")
        .set_integer("int", 5)
        .set_boolean("bool", True)
        .set_float("float", 1e10)
        .set_bytearray("bytes", bytearray(b"ab"))
    )


# What PyFlink 2.3 answers for these settings; None where it fails to parse.
ANSWERS: dict[str, tuple[str | None, int | None, bool | None, float | None, bytearray | None]] = {
    "text": ("x", None, None, None, None),
    "number": ("12", 12, None, 12.0, None),
    "truth": ("TRUE", None, True, None, None),
    "int": ("5", 5, None, 5.0, None),
    "bool": ("true", None, True, None, None),
    "float": ("1.0E10", None, None, 1e10, None),
    "bytes": ("!!binary |-\n  YWI=", None, None, None, bytearray(b"ab")),
    "missing": ("d", 7, False, 9.5, bytearray(b"q")),
}


@pytest.mark.parametrize("key", ANSWERS)
def test_getters(key: str) -> None:
    configuration = sample()
    getters: list[tuple[Any, Any]] = [
        (configuration.get_string, "d"),
        (configuration.get_integer, 7),
        (configuration.get_boolean, False),
        (configuration.get_float, 9.5),
        (configuration.get_bytearray, bytearray(b"q")),
    ]
    for (getter, default), answer in zip(getters, ANSWERS[key], strict=True):
        if answer is None:
            with pytest.raises(ValueError, match=f"for key '{key}'"):
                getter(key, default)
        else:
            found = getter(key, default)
            assert (found, type(found)) == (answer, type(answer))


def test_bytes_survive_their_text() -> None:
    text = sample().to_dict()["bytes"]
    assert Configuration().set_string("k", text).get_bytearray("k", bytearray()) == b"ab"


@pytest.mark.parametrize(
    ("setter", "value"),
    [("set_integer", "abc"), ("set_integer", 2**63), ("set_integer", 1.5), ("set_boolean", "yes"), ("set_float", "x")],
)
def test_setters_refuse_other_types(setter: str, value: Any) -> None:
    with pytest.raises(ValueError, match="for key 'k'"):
        getattr(Configuration(), setter)("k", value)


def test_set_string_takes_str_only() -> None:
    for value in (5, None):
        with pytest.raises(TypeError, match="set_string"):
            Configuration().set_string("k", value)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="set_string"):
        Configuration.from_dict({"k": 1})  # type: ignore[dict-item]


def test_collection_methods() -> None:
    configuration = Configuration.from_dict({"a": "1"}).set_integer("b", 2)
    assert configuration.key_set() == {"a", "b"}
    assert configuration.contains_key("a")
    assert configuration.to_dict() == {"a": "1", "b": "2"}
    assert str(configuration) == "{a=1, b=2}"
    target = {"z": 0}
    configuration.add_all_to_dict(target)
    assert target == {"z": 0, "a": "1", "b": 2}
    assert Configuration(configuration).add_all(configuration, "p.").to_dict() == {
        "a": "1", "b": "2", "p.a": "1", "p.b": "2",
    }  # fmt: skip
    assert configuration.remove_config("a")
    assert not configuration.remove_config("a")
    assert configuration.key_set() == {"b"}


def test_equality_and_copies() -> None:
    number, text = Configuration().set_integer("a", 1), Configuration().set_string("a", "1")
    assert number != text
    assert hash(number) == hash(text)
    for other in (Configuration(number), copy.deepcopy(number), pickle.loads(pickle.dumps(number))):
        assert other == number
        other.set_integer("a", 2)
        assert number.get_integer("a", 0) == 1


@pytest.mark.parametrize(
    ("text", "parts"),
    [("", []), ("a;b", ["a", "b"]), ("[a, b]", ["a", "b"]), ("['a','b']", ["a", "b"]), ("- a\n- b", ["a", "b"]),
     ("[]", []), ("a", ["a"])],
)  # fmt: skip
def test_parse_list_value(text: str, parts: list[str]) -> None:
    assert Configuration.parse_list_value(text) == parts


def key() -> ConfigOptions.OptionBuilder:
    return ConfigOptions.key("k")


OPTIONS: list[tuple[ConfigOption[Any], str, Any]] = [
    (key().string_type().no_default_value(), "x", "x"),
    (key().boolean_type().no_default_value(), "True", True),
    (key().int_type().no_default_value(), "-5", -5),
    (key().long_type().no_default_value(), str(2**40), 2**40),
    (key().float_type().no_default_value(), "1.5", 1.5),
    (key().double_type().no_default_value(), "2", 2.0),
    (key().duration_type().no_default_value(), "10 s", Duration.of_seconds(10)),
    (key().duration_type().no_default_value(), "5", Duration.of_millis(5)),
    (key().duration_type().no_default_value(), "1min", Duration.of_minutes(1)),
    (key().duration_type().no_default_value(), "PT1H30M", Duration.of_minutes(90)),
    (key().duration_type().no_default_value(), "P1DT0.5S", Duration.of_millis(86_400_500)),
    (key().memory_type().no_default_value(), "64 mb", 64 * 1024 * 1024),
    (key().memory_type().no_default_value(), "7", 7),
    (key().map_type().no_default_value(), "a:1, b:x:y", {"a": "1", "b": "x:y"}),
    (key().map_type().no_default_value(), "a:'1, 2', b:\"x\"", {"a": "1, 2", "b": "x"}),
    (key().map_type().no_default_value(), "a:'it''s'", {"a": "it's"}),
    (key().int_type().as_list().no_default_value(), "1;2", [1, 2]),
    (key().string_type().as_list().no_default_value(), "[a, b]", ["a", "b"]),
]


@pytest.mark.parametrize(("option", "text", "value"), OPTIONS, ids=lambda part: shown(part)[:20])
def test_options(option: ConfigOption[Any], text: str, value: Any) -> None:
    assert Configuration().get(option) is None
    assert Configuration().set_string("k", text).get(option) == value
    typed = Configuration().set(option, value)
    assert typed.get(option) == value
    assert Configuration.from_dict(typed.to_dict()).get(option) == value


@pytest.mark.parametrize(
    ("builder", "wrong"),
    [(key().int_type(), 2**31), (key().int_type(), "x"), (key().boolean_type(), 1), (key().duration_type(), "5 apples"),
     (key().memory_type(), "-1"), (key().map_type(), "a"), (key().double_type(), True), (key().duration_type(), "P")],
    ids=lambda part: shown(part)[-10:],
)  # fmt: skip
def test_wrong_values(builder: Any, wrong: Any) -> None:
    with pytest.raises(ValueError, match=r"wrong default .* for key 'k'"):
        builder.default_value(wrong)
    with pytest.raises(ValueError, match=r"wrong value .* for key 'k'"):
        Configuration().set(builder.no_default_value(), wrong)


def test_defaults() -> None:
    option = key().int_type().default_value(5)
    assert option.has_default_value()
    assert Configuration().get(option) == 5
    assert not key().int_type().no_default_value().has_default_value()
    assert option == key().int_type().default_value(5)
    assert hash(option) == hash(key().int_type().default_value(6))
    assert option != key().int_type().default_value(6)
    assert pickle.loads(pickle.dumps(option)) == option
    with pytest.raises(TypeError, match="key of an option"):
        ConfigOptions.key(None)  # type: ignore[arg-type]


@pytest.mark.parametrize("span", [Duration.of_seconds(2), Time.seconds(2), datetime.timedelta(seconds=2)])
def test_every_span_is_a_duration(span: Any) -> None:
    option = key().duration_type().no_default_value()
    assert Configuration().set(option, span).to_dict() == {"k": "2000 ms"}
