"""A draft over an environment against a dict: reading both as one, and writing the draft down."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from millrace.runtime.state.disk import write_batch
from millrace.runtime.state.disk.environment import Environment, create_environment
from millrace.runtime.state.disk.reader import Reader
from millrace.runtime.state.disk.write_batch import WriteBatch
from millrace.runtime.state.disk.writer import Writer

KEYS = st.sampled_from([b"\0\1", b"\0\1a", b"\0\1ab", b"\0\1b", b"\0\2", b"\0\2a", b"\0\3\xff", b"\1\0a"])
CHANGES = st.lists(st.tuples(KEYS, st.binary(max_size=2) | st.none()), max_size=12)
OWN = 2
"""entries that every environment has of its own"""


def unexpected(error: Exception) -> Exception:
    return error


Changes = list[tuple[bytes, bytes | None]]


def change(environment: Environment | WriteBatch, changes: Changes, model: dict[bytes, bytes]) -> None:
    with Writer(environment, at_once=False) as writer:
        for key, value in changes:
            if value is None:
                writer.delete(key)
                model.pop(key, None)
            else:
                writer.put(key, value)
                model[key] = value


def entries(environment: Environment) -> dict[bytes, bytes]:
    reader = Reader(unexpected)
    reader.begin(environment)
    found = dict(reader.after(b"", b"\0"))
    reader.end()
    assert list(found) == sorted(found)
    return found


def empty() -> Environment:
    return create_environment(tempfile.mkdtemp(prefix="millrace-test-") + "/environment")


@given(CHANGES, st.lists(CHANGES, max_size=3), KEYS)
def test_a_draft_is_read_as_the_environment_will_be(before: list[Any], changes: list[list[Any]], last: bytes) -> None:
    environment = empty()
    model: dict[bytes, bytes] = {}
    change(environment, before, model)
    own = {key: value for key, value in entries(environment).items() if key not in model}
    assert len(own) == OWN
    model.update(own)
    draft = WriteBatch(environment, unexpected)
    reader = Reader(unexpected)
    reader.begin(draft)
    for some in changes:
        change(draft, some, model)
        for key in [b"\0", b"\0\1", b"\0\1aa", b"\0\2", b"\0\3", b"\2", *model]:
            assert reader.get(key) == model.get(key)
            assert list(reader.after(b"", key)) == sorted(entry for entry in model.items() if entry[0] >= key)
            earlier = [entry for entry in model.items() if entry[0] < key]
            assert reader.last(b"", key) == max(earlier, default=None)
    reader.end()
    assert len(draft) == len({key for some in changes for key, _ in some})
    with Writer(environment, at_once=True) as writer:
        draft.copy_to(writer, last)
    assert entries(environment) == model


def test_without_an_environment_there_is_the_draft_alone() -> None:
    draft = WriteBatch(None, unexpected)
    reader = Reader(unexpected)
    reader.begin(draft)
    model: dict[bytes, bytes] = {}
    change(draft, [(b"\0\1a", b"1"), (b"\0\1b", b"2"), (b"\0\1a", None)], model)
    assert dict(reader.after(b"", b"")) == model == {b"\0\1b": b"2"}
    reader.end()


def test_one_record_is_written_last(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """It tells which version the environment has: while there is more to come it must not."""
    monkeypatch.setattr(write_batch, "TOGETHER", 2)
    draft = WriteBatch(None, unexpected)
    change(draft, [(b"\0\0head", b"all"), *((b"\0\1" + bytes((number,)), b"") for number in range(5))], {})
    environment = create_environment(str(tmp_path / "environment"))
    written: list[bytes] = []

    class Noting(Writer):
        def put_all(self, entries: list[tuple[bytes, bytes]]) -> None:
            written.extend(key for key, _ in entries)
            super().put_all(entries)

        def put(self, key: bytes, payload: bytes) -> None:
            written.append(key)
            super().put(key, payload)

    with Noting(environment, at_once=False) as writer:
        draft.copy_to(writer, b"\0\0head")
    assert written[-1] == b"\0\0head"
    assert len(written) == 6
