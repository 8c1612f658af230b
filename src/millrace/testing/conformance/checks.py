"""Named checks that run one by one; all failures are reported together."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass


class ConformanceError(AssertionError):
    """Some checks failed; the text lists all of them.

    >>> print(ConformanceError("my store", {"writes": OSError("full")}))
    my store fails 1 checks:
      writes: OSError: full
    """

    def __init__(self, what: str, failures: dict[str, BaseException]) -> None:
        self.failures = failures
        lines = [f"  {name}: {_told(error)}" for name, error in failures.items()]
        super().__init__(f"{what} fails {len(failures)} checks:\n" + "\n".join(lines))


@dataclass(frozen=True)
class Check:
    """One requirement of a plug-in; calling it raises if it is not met.

    >>> [check.name for check in checkpoint_storage_checks("jobmanager")][:1]
    ['What is not there is told so']
    """

    name: str
    run: Callable[[], None]

    def __call__(self) -> None:
        self.run()

    def __str__(self) -> str:
        return self.name


def run_all(what: str, checks: Iterable[Check]) -> list[str]:
    """Run the checks; returns their names. Raises ``ConformanceError`` with all failures."""
    names, failures = [], dict[str, BaseException]()
    for check in checks:
        names.append(check.name)
        try:
            check()
        except Exception as error:
            failures[check.name] = error
    if failures:
        raise ConformanceError(what, failures)
    return names


def expect(found: object, wanted: object, about: str) -> None:
    """Raise an ``AssertionError`` that shows both values, unless they are equal."""
    if found != wanted:
        raise AssertionError(f"{about}: expected {_short(wanted)}, found {_short(found)}")


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 200 else f"{text[:200]}..."


def _told(error: BaseException) -> str:
    return str(error) if isinstance(error, AssertionError) else f"{type(error).__name__}: {error}"
