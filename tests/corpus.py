"""Corpora: one test goes through all cases of a list and fails with all that are wrong.

A test of its own for each of thousands of cases costs more than what most of them check.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from typing import Any

import pytest

LONGEST = 2_000
"""characters that are shown of a case, and of what is wrong with it"""


def corpus(names: str | tuple[str, ...], cases: Iterable[Any], least: int) -> Callable[[Callable[..., None]], Any]:
    """Makes one test of a function that checks a case: as ``pytest.mark.parametrize``, which makes one for each.

    The function's other parameters are fixtures, which all cases share.

    :param names: the parameter that takes a case, or those that take its parts.
    :param least: how many cases there are at least: when fewer are checked, as when they are no longer found, it fails.
    """
    parts = (names,) if isinstance(names, str) else names
    given = list(cases)

    def of(check: Callable[..., None]) -> Callable[..., None]:
        def test(**fixtures: Any) -> None:
            wrong = []
            for case in given:
                values = (case,) if isinstance(names, str) else case
                try:
                    check(**dict(zip(parts, values, strict=True)), **fixtures)
                except (Exception, pytest.fail.Exception) as error:
                    case_text, error_text = "; ".join(map(str, values)), f"{type(error).__name__}: {error}"
                    wrong.append(f"{case_text[:LONGEST]}\n{error_text[:LONGEST]}")
            print(f"{len(given)} cases")
            assert not wrong, f"{len(wrong)} of {len(given)} cases:\n\n" + "\n\n".join(wrong)
            assert len(given) >= least, f"only {len(given)} cases are left of {least}"

        signature = inspect.signature(check)
        others = [each for each in signature.parameters.values() if each.name not in parts]
        test.__signature__ = signature.replace(parameters=others)  # type: ignore[attr-defined]
        test.__name__, test.__doc__, test.__module__ = check.__name__, check.__doc__, check.__module__
        return test

    return of
