"""Makes ``import pyflink`` resolve to Millrace, so that PyFlink programs run unchanged."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Callable, Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType

from millrace import older
from millrace.util import fallback

__all__ = ["activate", "deactivate", "is_active"]

PYFLINK_VERSION = "2.3.0"
"""The PyFlink version whose API Millrace has, and which ``pyflink.version`` reports."""

_PYFLINK = "pyflink"
_VERSION = "pyflink.version"


class PyFlinkFinder(MetaPathFinder):
    """Finds ``pyflink.x.y`` as ``millrace.x.y``: the same module object under a second name."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname == _PYFLINK:
            return ModuleSpec(fullname, _OwnLoader(), is_package=True)
        if fullname == _VERSION:
            return ModuleSpec(fullname, _OwnLoader())
        if not fullname.startswith(f"{_PYFLINK}."):
            return None
        ours = _our_name(fullname)
        return ModuleSpec(fullname, _AliasLoader(ours))


class _Stopgap(MetaPathFinder):
    """A finder after all others: it serves ``pyflink`` only if PyFlink is not installed."""

    def __init__(self, tell: Callable[[], None]) -> None:
        self._tell = tell

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname != _PYFLINK:
            return None
        self._tell()
        activate()
        return PyFlinkFinder().find_spec(fullname)


class _OwnLoader(Loader):
    """Loads the modules without a counterpart in Millrace: ``pyflink`` itself and ``pyflink.version``."""

    def exec_module(self, module: ModuleType) -> None:
        module.__dict__["__version__"] = PYFLINK_VERSION


class _AliasLoader(Loader):
    """Registers a module of Millrace in ``sys.modules`` under its PyFlink name."""

    def __init__(self, ours: str) -> None:
        self._ours = ours
        self._spec: ModuleSpec | None = None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        module = importlib.import_module(self._ours)
        self._spec = module.__spec__
        return module

    def exec_module(self, module: ModuleType) -> None:
        # The import system has just written the spec of the alias into the module, which keeps its own.
        module.__spec__ = self._spec
        older.add_older_names(self._ours.removeprefix("millrace."), module)


def _our_name(fullname: str) -> str:
    """Millrace's name of a PyFlink module. Raises ``ModuleNotFoundError`` with both names if there is none."""
    from millrace.pyflink_names import NAMES

    rest = fullname.removeprefix(f"{_PYFLINK}.")
    ours = f"millrace.{rest}"
    entry = NAMES.get(rest)
    if entry is not None and entry.served:
        return f"millrace.{entry.served}"
    is_there = rest.partition(".")[0] in _packages() and importlib.util.find_spec(ours) is not None
    if entry is not None and is_there:
        return ours
    if is_there:
        text = f"No module named {fullname!r}: PyFlink has none; import {ours!r}"
    else:
        text = f"No module named {fullname!r}: Millrace stands in for PyFlink here and has no {ours!r}"
    if rest.partition(".")[0] not in _packages():
        text += f", only {', '.join(f'pyflink.{name}' for name in _packages())}"
    raise ModuleNotFoundError(text, name=fullname)


def _packages() -> list[str]:
    """The packages and single modules right below ``pyflink`` that have names here."""
    from millrace.pyflink_names import NAMES

    return sorted({name.partition(".")[0] for name, module in NAMES.items() if module.here})


def activate() -> None:
    """Make ``pyflink`` and all modules below it resolve to Millrace, here and in the workers.

    May be called again. Raises ``RuntimeError`` when the real PyFlink has been imported already.
    """
    if is_active():
        return
    real = sys.modules.get(_PYFLINK)
    if real is not None:
        where = getattr(real, "__file__", None) or "unknown place"
        raise RuntimeError(
            f"PyFlink itself is already imported ({where}): call millrace.activate() before the first import of pyflink"
        )
    # In front of the finders of installed packages: PyFlink may be installed too.
    sys.meta_path.insert(0, PyFlinkFinder())
    older.install()


def activate_where_missing(tell: Callable[[], None]) -> None:
    """Call ``activate`` at the first ``import pyflink``, if PyFlink is not installed, and this function before that."""
    sys.meta_path.append(_Stopgap(tell))


def deactivate() -> None:
    """Undo ``activate`` and ``activate_where_missing``; modules imported from ``pyflink`` stay usable."""
    sys.meta_path[:] = [finder for finder in sys.meta_path if not isinstance(finder, _Stopgap)]
    if not is_active():
        return
    sys.meta_path[:] = [finder for finder in sys.meta_path if not isinstance(finder, PyFlinkFinder)]
    fallback.remove()
    for name in [name for name in sys.modules if name == _PYFLINK or name.startswith(f"{_PYFLINK}.")]:
        older.remove_older_names(sys.modules.pop(name))


def is_active() -> bool:
    """Whether ``pyflink`` resolves to Millrace in this process."""
    return any(isinstance(finder, PyFlinkFinder) for finder in sys.meta_path)
