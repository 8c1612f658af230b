"""Maps in accumulators."""

from __future__ import annotations

import pytest

from millrace.table import MapView


def view() -> MapView[str, int]:
    found: MapView[str, int] = MapView()
    found.put_all({"a": 1, "b": 2, "c": 3})
    return found


def test_what_a_map_has() -> None:
    assert (list(view()), list(view().values())) == (["a", "b", "c"], [1, 2, 3])
    assert dict(view().items()) == {"a": 1, "b": 2, "c": 3}
    assert "b" in view().keys()  # noqa: SIM118  # what keys() gives is looked at
    assert 3 in view().values()
    assert len(view().keys()) == 3  # type: ignore[arg-type]


@pytest.mark.parametrize("form", ["items", "keys", "values"])
def test_what_came_last_can_be_taken_out_while_others_come(form: str) -> None:
    map_view = view()
    entries = iter(getattr(map_view, form)())
    next(entries)
    next(entries)
    entries.remove()
    assert next(entries) in (("c", 3), "c", 3)
    assert dict(map_view.items()) == {"a": 1, "c": 3}


def test_nothing_is_taken_out_twice() -> None:
    keys = iter(view().keys())
    next(keys)
    keys.remove()  # type: ignore[attr-defined]
    with pytest.raises(IndexError):
        keys.remove()  # type: ignore[attr-defined]
