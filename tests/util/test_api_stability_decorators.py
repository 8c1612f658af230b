"""Stability marks."""

from __future__ import annotations

import pickle
import warnings
from typing import Any

import pytest

from millrace.util.api_stability_decorators import Deprecated, Experimental, Internal, Public, PublicEvolving


@Deprecated("0.3", "Use New.")
class Old:
    """An old class."""

    def __init__(self, value: int) -> None:
        self.value = value


@Deprecated("0.2")
def old(value: int) -> int:
    """An old function."""
    return value


def marks(thing: Any) -> Any:
    return vars(thing)["__stability_decorators"]


@pytest.mark.parametrize(
    ("mark", "word"), [(Public, "public"), (PublicEvolving, "evolving"), (Experimental, "experimental")]
)
def test_a_mark_is_in_the_docstring(mark: type[Public], word: str) -> None:
    @mark()
    def function() -> int:
        """Returns one."""
        return 1

    assert function() == 1
    assert function.__doc__ is not None
    assert function.__doc__.startswith("Returns one.\n\n.. ")
    assert f"This function is **{word}**" in function.__doc__
    assert marks(function) == {mark}


def test_a_subclass_does_not_change_the_marks_of_its_base() -> None:
    @Public()
    class Base: ...

    @Internal()
    @Experimental()
    class Derived(Base): ...

    assert marks(Base) == {Public}
    assert marks(Derived) == {Internal, Experimental}
    assert "This class is **internal**" in (Derived.__doc__ or "")


def test_deprecated_warns_where_it_is_used() -> None:
    with pytest.warns(DeprecationWarning, match=r"^old has been deprecated since version 0.2\.$") as caught:
        assert old(5) == 5
    assert caught[0].filename == __file__
    with pytest.warns(DeprecationWarning, match=r"^Old has been deprecated since version 0.3\. Use New\.$"):
        instance = Old(5)
    assert instance.value == 5
    assert (old.__name__, Old.__name__) == ("old", "Old")
    assert ".. deprecated:: 0.3\n   Use New." in (Old.__doc__ or "")


def test_a_deprecated_class_stays_a_class() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        instance = Old(5)
    assert isinstance(Old, type)
    assert pickle.loads(pickle.dumps(instance)).value == 5
