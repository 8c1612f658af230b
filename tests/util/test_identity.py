"""Collections by identity: equal objects are apart, and objects stay alive."""

from __future__ import annotations

import pytest

from millrace.util.identity import IdentityDict, IdentitySet


def test_equal_objects_are_apart() -> None:
    one, other = [1], [1]
    found = IdentityDict[list[int], str]([(one, "one")])
    found[other] = "other"
    assert (found[one], found.get(other), found.get([1])) == ("one", "other", None)
    assert [key is each for key, each in zip(found, (one, other))] == [True, True]
    del found[one]
    assert (len(found), one in found, other in found) == (1, False, True)
    for missing in (one, [1]):
        with pytest.raises(KeyError):
            found[missing]
        with pytest.raises(KeyError):
            del found[missing]


def test_a_set_of_objects() -> None:
    one, other = [1], [1]
    found = IdentitySet([one, one])
    found.add(other)
    found.discard(one)
    found.discard(one)
    assert (len(found), one in found, other in found) == (1, False, True)
    assert next(iter(found)) is other


def test_objects_stay_alive() -> None:
    found = IdentitySet[list[int]]()
    for _ in range(100):
        found.add([])  # else all of them would get the same id
    assert len(found) == 100
