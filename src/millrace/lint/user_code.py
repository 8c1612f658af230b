"""The user's functions in a job: found in the descriptions of operators, as syntax trees, with all the user's code that
they call.
"""

from __future__ import annotations

import ast
import builtins
import functools
import inspect
import linecache
import sysconfig
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from functools import lru_cache
from types import BuiltinFunctionType, CodeType, FunctionType, MethodType, ModuleType
from typing import Any

from millrace.graph.nodes import Node
from millrace.runtime.exchange.partitioners import Custom, Hash
from millrace.runtime.operators import specs

# Syntax trees

Tree = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda


@lru_cache(maxsize=64)
def tree_of_file(path: str) -> ast.Module | None:
    """A file, as it is on the disk; None if there is none or it can't be read as Python."""
    try:
        return ast.parse("".join(linecache.getlines(path)))
    except (SyntaxError, ValueError):
        return None


def tree_of(function: FunctionType) -> Tree | None:
    """The definition of a function; None if its source is not there."""
    code = function.__code__
    module = tree_of_file(code.co_filename)
    if module is None:
        return None
    found = [each for each in ast.walk(module) if isinstance(each, Tree) and _first_line(each) == code.co_firstlineno]
    same = [each for each in found if _name_of_tree(each) == code.co_name and _arguments(each) == _arguments_of(code)]
    if len(same) > 1:  # lambdas on one line
        same = _around(same, code) or [each for each in same if _asked(each, code) == set(code.co_names)] or same
    return same[0] if same else None


def _around(trees: list[Tree], code: CodeType) -> list[Tree]:
    """The definitions that all of the code lies in, the innermost one first; none before Python 3.11, where code does
    not know its columns."""
    known: Iterable[tuple[int | None, ...]] = getattr(code, "co_positions", tuple)()
    places = [(line, column) for line, _, column, end in known if line is not None and column is not None and end]
    if not places:
        return []
    first, last = min(places), max(places)
    found = [each for each in trees if (each.lineno, each.col_offset) <= first and last < _end(each)]
    return sorted(found, key=lambda each: (each.lineno, each.col_offset), reverse=True)


def _end(tree: Tree) -> tuple[int, int]:
    return tree.end_lineno or tree.lineno, tree.end_col_offset or 0


def _first_line(tree: Tree) -> int:
    decorators = [] if isinstance(tree, ast.Lambda) else tree.decorator_list
    return min([tree.lineno, *(each.lineno for each in decorators)])


def _name_of_tree(tree: Tree) -> str:
    return "<lambda>" if isinstance(tree, ast.Lambda) else tree.name


def _arguments(tree: Tree) -> list[str]:
    given = tree.args
    return [each.arg for each in (*given.posonlyargs, *given.args, *given.kwonlyargs)]


def _arguments_of(code: CodeType) -> list[str]:
    return list(code.co_varnames[: code.co_argcount + code.co_kwonlyargcount])


def _asked(tree: Tree, code: CodeType) -> set[str]:
    """The names that a definition would ask of its module or of objects, if its variables were those of the code."""
    found = {each.id for each in ast.walk(tree) if isinstance(each, ast.Name)}
    own = {*code.co_varnames, *code.co_cellvars, *code.co_freevars}
    return (found - own) | {each.attr for each in ast.walk(tree) if isinstance(each, ast.Attribute)}


# What names mean

UNKNOWN = object()


class Scope:
    """The surroundings of one function.

    :param owner: the object whose method it is, if it is one.
    :param made: attribute of the owner -> what its methods call to make it, ``requests.Session``.
    """

    def __init__(self, function: FunctionType, tree: Tree, owner: Any = None, made: Mapping[str, str] = {}) -> None:
        self._outer = {**vars(builtins), **function.__globals__, **_closure(function)}
        self._imported = dict(_imports(tree))
        code = function.__code__
        self._local = {*code.co_varnames, *code.co_cellvars} - {"self"}
        self._owner = owner
        self._made = made

    def is_outer(self, name: str) -> bool:
        """Whether a name is a variable of the module, or of a function around this one."""
        return name not in self._local and name in self._outer

    def value(self, expression: ast.expr) -> Any:
        """The object that a name, or attributes behind one, stand for; ``UNKNOWN`` if that shows at run time only."""
        if isinstance(expression, ast.Name):
            if expression.id == "self" and self._owner is not None:
                return self._owner
            return UNKNOWN if expression.id in self._local else self._outer.get(expression.id, UNKNOWN)
        if isinstance(expression, ast.Attribute):
            value = self.value(expression.value)
            if value is UNKNOWN:
                return UNKNOWN
            # Not getattr(): properties are the user's code.
            return inspect.getattr_static(value, expression.attr, UNKNOWN)
        return UNKNOWN

    def dotted(self, expression: ast.expr) -> str | None:
        """What is called, under the name of its module: ``time.sleep``; None if that is not known."""
        if isinstance(expression, ast.Attribute):
            if is_self(expression.value) and expression.attr in self._made:
                return self._made[expression.attr]
            value = self.value(expression.value)
            head = self.dotted(expression.value) if value is UNKNOWN else _name(value)
            return None if head is None else f"{head}.{expression.attr}"
        if not isinstance(expression, ast.Name):
            return None
        if expression.id in self._imported:
            return self._imported[expression.id]
        value = self.value(expression)
        return None if value is UNKNOWN else _name(value)


def is_self(expression: ast.expr) -> bool:
    """Whether it is the object whose method this is."""
    return isinstance(expression, ast.Name) and expression.id == "self"


def _name(value: Any) -> str | None:
    kind = type(value)  # not isinstance(): that asks the object, which may be anything
    if issubclass(kind, ModuleType):
        return str(value.__name__)
    if issubclass(kind, (BuiltinFunctionType, MethodType)) and not isinstance(value.__self__, ModuleType):
        owner = value.__self__ if isinstance(value.__self__, type) else type(value.__self__)
        return f"{owner.__module__}.{owner.__qualname__}.{value.__name__}"
    described = value if issubclass(kind, (FunctionType, BuiltinFunctionType, type)) else kind
    return f"{described.__module__}.{described.__qualname__}"


def _closure(function: FunctionType) -> dict[str, Any]:
    found = {}
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or ()):
        try:
            found[name] = cell.cell_contents
        except ValueError:  # it has no value yet
            continue
    return found


def _imports(tree: Tree) -> list[tuple[str, str]]:
    """(name, what it stands for) of the imports inside a function."""
    found = []
    for each in ast.walk(tree):
        if isinstance(each, ast.Import):
            found += [(a.asname or a.name.partition(".")[0], a.name if a.asname else a.name.partition(".")[0])
                      for a in each.names]  # fmt: skip
        elif isinstance(each, ast.ImportFrom):
            found += [(a.asname or a.name, f"{each.module}.{a.name}") for a in each.names]
    return found


# Functions of operators

_DEPTH = 8
"""How many steps into our own objects the search goes."""
_MOST_PARTS = 64
"""Larger containers hold data."""
_AROUND = frozenset(
    {"open", "close", "snapshot_state", "initialize_state", "get_produced_type", "setup", "finish", "is_deterministic"}
)
"""Methods that are not called for elements."""
_UNDECLARED = ("eval", "__call__")
"""Methods for elements that no class of ours declares."""
_LIBRARIES = tuple(sysconfig.get_paths()[name] for name in ("stdlib", "platstdlib", "purelib", "platlib"))


@dataclass(frozen=True, eq=False)
class UserCode:
    """A function, or an object with methods, that the user has written."""

    value: Any
    origin: str
    """file:line where it was given to the program"""

    @property
    def described(self) -> str:
        if inspect.isfunction(self.value):
            return "the lambda" if self.value.__name__ == "<lambda>" else f"{self.value.__name__}()"
        return type(self.value).__qualname__

    def methods(self) -> list[FunctionType]:
        """What is called for elements."""
        if inspect.isfunction(self.value):
            return [self.value]
        kind = type(self.value)
        declared = [name for base in kind.__mro__ if _is_ours(base.__module__) for name in vars(base)]
        names = [name for name in declared if not name.startswith("_") and name not in _AROUND]
        return _own_methods(kind, [*names, *_UNDECLARED])

    def all_methods(self) -> list[FunctionType]:
        """All that the user has written of it."""
        if inspect.isfunction(self.value):
            return [self.value]
        kind = type(self.value)
        return _own_methods(kind, [name for base in kind.__mro__ for name in vars(base)])


def _own_methods(kind: type, names: list[str]) -> list[FunctionType]:
    found = (getattr(kind, name, None) for name in dict.fromkeys(names))
    return [each for each in found if isinstance(each, FunctionType) and is_users(each)]


def is_users(function: FunctionType) -> bool:
    """Whether a function is of the program rather than of a library."""
    return not _is_ours(function.__module__) and not function.__code__.co_filename.startswith(_LIBRARIES)


def functions_of(node: Node) -> Iterator[UserCode]:
    """What a node calls for its elements; of sources and sinks nothing."""
    if not node.is_source and not node.is_sink:
        yield from _with_origin(_search(node.spec.parts(), _DEPTH, set()), node.origin)
        if isinstance(node.spec, specs.TableStep):
            yield from _with_origin(_search(list(node.spec.config.wrappers()), _DEPTH, set()), node.origin)


def selectors_of(node: Node) -> Iterator[UserCode]:
    """What chooses the keys of its inputs."""
    for edge in node.edges:
        if isinstance(edge.partitioner, (Hash, Custom)):
            where = edge.partitioner.origin.rpartition(" at ")[2] or node.origin
            yield from _with_origin(_search(edge.partitioner.key_selector, _DEPTH, set()), where)


def _with_origin(found: Iterator[Any], origin: str) -> Iterator[UserCode]:
    return (UserCode(each, origin) for each in found)


def _search(value: Any, depth: int, seen: set[int]) -> Iterator[Any]:
    if depth == 0 or id(value) in seen or isinstance(value, type):
        return
    seen.add(id(value))
    if inspect.isfunction(value):
        if not _is_ours(value.__module__):
            yield value
        else:
            for cell in value.__closure__ or ():
                yield from _search(_content(cell), depth - 1, seen)
    elif inspect.ismethod(value):
        yield from _search(value.__self__, depth - 1, seen)
    elif isinstance(value, functools.partial):
        yield from _search(value.func, depth - 1, seen)
    elif isinstance(value, (tuple, list, dict)):
        parts = list(value.values()) if isinstance(value, dict) else value
        for part in parts if len(parts) <= _MOST_PARTS else ():
            yield from _search(part, depth - 1, seen)
    elif _is_ours(type(value).__module__):
        for part in _parts(value):
            yield from _search(part, depth - 1, seen)
    elif callable(value) or any(_is_ours(base.__module__) for base in type(value).__mro__):
        yield value


def _parts(value: Any) -> list[Any]:
    if is_dataclass(value):
        return [getattr(value, each.name, None) for each in fields(value)]
    return list(getattr(value, "__dict__", {}).values())


def _content(cell: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # it has no value yet
        return None


def _is_ours(module: str | None) -> bool:
    return module is not None and (module == "millrace" or module.startswith("millrace."))


# Code that a function calls

_MOST = 50
"""Functions that are looked at for one of the user's."""


@dataclass(frozen=True, eq=False)
class Piece:
    """One function that runs."""

    function: FunctionType
    tree: Tree
    scope: Scope

    def origin(self, node: ast.AST) -> str:
        """file:line of something in it."""
        return f"{self.function.__code__.co_filename}:{getattr(node, 'lineno', self.tree.lineno)}"

    def calls(self) -> Iterator[tuple[str, ast.Call]]:
        """(what is called, the call) of all calls whose function is known by name."""
        for each in ast.walk(self.tree):
            if isinstance(each, ast.Call) and (dotted := self.scope.dotted(each.func)) is not None:
                yield dotted, each


def pieces(code: UserCode, methods: Sequence[FunctionType] | None = None) -> Iterator[Piece]:
    """All that runs for an element, as far as its source is there; ``methods`` says what else to begin with."""
    owner = None if isinstance(code.value, FunctionType) else code.value
    made = {} if owner is None else _made(code)
    waiting = list(code.methods() if methods is None else methods)
    seen: set[Any] = set()
    while waiting and len(seen) < _MOST:
        function = waiting.pop(0)
        tree = None if function.__code__ in seen else tree_of(function)
        seen.add(function.__code__)
        if tree is not None:
            piece = Piece(function, tree, Scope(function, tree, owner, made))
            yield piece
            waiting += _called(piece)


def _made(code: UserCode) -> dict[str, str]:
    """Attribute -> what is called to make it, where methods of the object say so: ``self.client = httpx.Client()``."""
    found: dict[str, str] = {}
    for function in code.all_methods():
        tree = tree_of(function)
        if tree is None:
            continue
        scope = Scope(function, tree)
        for each in ast.walk(tree):
            match each:
                case ast.Assign(targets=[ast.Attribute(value=of, attr=name)], value=ast.Call(func=called)):
                    if is_self(of) and (dotted := scope.dotted(called)) is not None:
                        found[name] = dotted
    return found


def _called(piece: Piece) -> list[FunctionType]:
    values = [piece.scope.value(each.func) for each in ast.walk(piece.tree) if isinstance(each, ast.Call)]
    return [each for each in values if isinstance(each, FunctionType) and is_users(each)]
