"""Pickles read as data: what honest ones say, and that hostile ones do nothing."""

from __future__ import annotations

import collections
import datetime
import decimal
import enum
import pickle
import pickletools
import uuid
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import cloudpickle
import pytest
from hypothesis import given
from hypothesis import strategies as st

from millrace.checkpoint.columns import INERT, decode, encode
from millrace.checkpoint.inert import FROM_ARGS, InertError, PickledObject, inert_loads
from millrace.checkpoint.pickles import encode_pickles
from millrace.common.time import Instant
from millrace.common.types import Row, RowKind
from millrace.datastream.window import CountWindow, GlobalWindow, TimeWindow
from millrace.runtime.state.address import Scoped
from millrace.runtime.state.operator_state import Distribution
from millrace.runtime.state.tables import ABSENT
from millrace.runtime.storage import dumps


@dataclass
class Card:
    suit: str
    points: int


class Pair(NamedTuple):
    left: Any
    right: Any


class Level(enum.Enum):
    LOW = 1


class Thing:
    def __init__(self, name: str) -> None:
        self.name = name


scalars = (
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text() | st.binary()
    | st.dates() | st.datetimes() | st.times() | st.timedeltas() | st.decimals(allow_nan=False) | st.uuids()
)  # fmt: skip
hashable = st.recursive(scalars, lambda inner: st.tuples(inner, inner) | st.frozensets(inner, max_size=3), max_leaves=5)
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner) | st.tuples(inner) | st.dictionaries(hashable, inner, max_size=4) | st.sets(hashable),
    max_leaves=25,
)


@given(values, st.sampled_from([4, 5]))
def test_plain_values_are_what_pickle_gives(value: Any, protocol: int) -> None:
    assert inert_loads(pickle.dumps(value, protocol)) == value


@given(st.lists(values, max_size=5))
def test_pickles_of_savepoints(stored: list[Any]) -> None:
    array, described = encode_pickles(stored)
    assert described["form"] == "pickle"
    assert decode(array, {"form": INERT}) == stored


def test_what_millrace_stores_is_what_it_is() -> None:
    window = TimeWindow(1, 2)
    stored = [
        Row(1, "a"), Row(a=1), RowKind.DELETE, window, CountWindow(3), GlobalWindow(), Instant(1, 2),
        Scoped("key", window), Distribution.UNION, ABSENT, uuid.UUID(int=5), decimal.Decimal("1.50"),
        collections.deque([1, 2], 5), collections.Counter("aab"), collections.OrderedDict(b=1, a=2), complex(1, 2),
        bytearray(b"x"), datetime.datetime(2026, 1, 1, tzinfo=datetime.timezone.utc), {(1, window): [window]},
    ]  # fmt: skip
    found = inert_loads(dumps(stored))
    assert found == stored
    assert list(map(type, found)) == list(map(type, stored))
    assert found[0] == stored[0] and found[8] is Distribution.UNION and found[9] is ABSENT


def test_shared_and_circular_objects() -> None:
    one: list[Any] = [CountWindow(1)]
    one.append(one)
    found = inert_loads(dumps((one, one[0], one)))
    assert found[0] is found[2] is found[0][1]
    assert found[1] is found[0][0] and found[1] == CountWindow(1)


def test_other_objects_are_shown_by_what_their_pickles_say() -> None:
    texts = {
        Thing("a"): f"<{__name__}.Thing name='a'>",
        Level.LOW: f"<{__name__}.Level 1>",
        Pair(1, "b"): f"<{__name__}.Pair 1 'b'>",
    }
    for value, text in texts.items():
        assert repr(inert_loads(dumps(value))) == text
        assert repr(decode(encode_pickles([value])[0], {"form": INERT})[0]) == text
    assert repr(inert_loads(dumps(Card("x", 1)))) == f"<{__name__}.Card suit='x' points=1>"
    assert repr(decode(encode_pickles([Card("x", 1)])[0], {"form": INERT})[0]) == repr(inert_loads(dumps(Card("x", 1))))
    assert repr(inert_loads(dumps(int))) == "<builtins.int>"


def test_equal_pickles_are_equal_objects() -> None:
    def read(value: Any) -> Any:
        return inert_loads(dumps(value))

    assert read(Card("x", 1)) == read(Card("x", 1)) != read(Card("x", 2))
    assert len({read(Pair(1, 2)), read(Pair(1, 2)), read(Pair(1, [])), read(Level.LOW)}) == 3
    again = pickle.loads(pickle.dumps(read(Thing("a"))))
    assert isinstance(again, PickledObject) and again == read(Thing("a"))
    assert decode(*encode([read(Thing("a"))])) == [read(Thing("a"))]


def test_classes_that_come_with_their_pickles() -> None:
    class Local:
        x = 1

    assert isinstance(inert_loads(cloudpickle.dumps(Local())), PickledObject)
    assert isinstance(inert_loads(cloudpickle.dumps(lambda x: x + 1)), PickledObject)


# -- hostile ones -----------------------------------------------------------------------------------------------------


class Evil:
    """Its pickle makes a file."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Any, ...]:
        return Path.touch, (self.path,)


@pytest.mark.parametrize("protocol", [2, 3, 4, 5])
def test_nothing_runs(protocol: int, tmp_path: Path) -> None:
    path = tmp_path / "pwned"
    payload = pickle.dumps({"a": [Evil(path)]}, protocol)
    ((evil,),) = inert_loads(payload).values()
    assert isinstance(evil, PickledObject) and not path.exists()
    pickle.loads(payload)
    assert path.exists(), "the pickle is as hostile as it should be"


def test_nothing_is_imported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "evil_module.py").write_text(f"open({str(tmp_path / 'pwned')!r}, 'w')\nclass Evil: pass\n")
    monkeypatch.syspath_prepend(tmp_path)
    payload = b"\x80\x04\x8c\x0bevil_module\x8c\x04Evil\x93)\x81."
    assert repr(inert_loads(payload)) == "<evil_module.Evil>"
    assert not (tmp_path / "pwned").exists()


def test_constructors_that_are_called_get_only_data() -> None:
    """What is known may be called by a hostile pickle with anything: then it is shown, not made."""
    for name in FROM_ARGS:
        module, _, attribute = name.rpartition(".")
        head = b"\x80\x04\x8c" + bytes([len(module)]) + module.encode()
        head += b"\x8c" + bytes([len(attribute)]) + attribute.encode() + b"\x93"
        for args in (b")", b"\x8c\x01x\x85", b"]\x85", b"}\x85", b"N\x85", b"K\x01K\x02K\x03\x87"):
            inert_loads(head + args + b"R.")  # does not raise, does nothing
    zoned = datetime.datetime(2026, 1, 1, tzinfo=Zone())
    assert repr(inert_loads(pickle.dumps(zoned))).startswith("<datetime.datetime b'")


class Zone(datetime.tzinfo):
    """A zone that only its program knows."""


@pytest.mark.parametrize(
    "payload",
    [b"", b"\x80\x04", b"garbage", b"\x80\x04(.", b"\x80\x04K\x01K\x02.", b"\x80\x04h\x05.", b"\x80\x04e.",
     b"\x80\x04K\x01K\x02R.", b"\x80\x04K\x01}b.", b"cos\nsystem\n(S'id'\ntR.", b"\x80\x04K\x01P0\n.",
     b"\x80\x04\x82\x01.", b"\x80\x04\x8d\xff\xff\xff\xff\xff\xff\xff\x7fx.", b"\x80\x04]K\x01K\x02s."],
)  # fmt: skip
def test_what_millrace_never_writes_is_refused(payload: bytes) -> None:
    with pytest.raises(InertError):
        inert_loads(payload)


@given(st.binary(max_size=60), st.randoms())
def test_damaged_pickles_only_raise_inert_errors(noise: bytes, random: Any) -> None:
    payload = bytearray(dumps([Card("x", 1), {1: (2, 3)}, {4}, CountWindow(5), noise]))
    for _ in range(3):
        payload[random.randrange(len(payload))] = random.randrange(256)
    try:
        inert_loads(bytes(payload))
    except InertError:
        pass


def test_every_instruction_that_honest_pickles_have_is_known() -> None:
    """Of the newest protocol; ``pickletools`` knows which there are. Those left out Millrace never writes."""
    from millrace.checkpoint import inert

    known = inert._PUSH | inert._NOTHING | {*inert._CONSTANTS, *inert._FRESH, *inert._WIDTHS, *inert._STEPS}
    left_out = {code.name for code in pickletools.opcodes if code.proto >= 2} - known
    assert left_out == {"EXT1", "EXT2", "EXT4", "NEXT_BUFFER", "READONLY_BUFFER"}
