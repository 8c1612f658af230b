"""The user's functions in a job, found in the descriptions of operators, as syntax trees, with all user code that they
call."""

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

from millrace.graph.program import Node
from millrace.runtime.exchange.partitioners import Custom, Hash
from millrace.runtime.operators import specs

# Syntax trees

Tree = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda


@lru_cache(maxsize=64)
def tree_of_file(path: str) -> ast.Module | None:
    """The syntax tree of a file; None if it does not exist or is not Python."""
    try:
        return ast.parse("".join(linecache.getlines(path)))
    except (SyntaxError, ValueError):
        return None


def tree_of(function: FunctionType) -> Tree | None:
    """The syntax tree of a function; None if its source is not available."""
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
    """The definitions around a piece of code, the innermost first; empty before Python 3.11, whose code objects lack
    columns."""
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
    """The names that a definition would look up in its module or on objects, if it had the variables of the code."""
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
        """Whether a name is a variable of the module, or of an enclosing function."""
        return name not in self._local and name in self._outer

    def value(self, expression: ast.expr) -> Any:
        """The object that a name, or a chain of attributes, refers to; ``UNKNOWN`` if that shows at run time only."""
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
        """The called function with its module: ``time.sleep``; None if unknown."""
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
    """Whether an expression is ``self``, the object whose method this is."""
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
    """(name, imported object) of the imports inside a function."""
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
"""Depth of the search in objects of Millrace."""
_MOST_PARTS = 64
"""Largest container that is searched for functions; larger ones hold data."""
_AROUND = frozenset(
    {"open", "close", "snapshot_state", "initialize_state", "get_produced_type", "setup", "finish", "is_deterministic"}
)
"""Methods that are not called for each element."""
_UNDECLARED = ("eval", "__call__")
"""Methods for elements that no class of Millrace declares."""
_LIBRARIES = tuple(sysconfig.get_paths()[name] for name in ("stdlib", "platstdlib", "purelib", "platlib"))


@dataclass(frozen=True, eq=False)
class UserCode:
    """A function, or an object with methods, written by the user."""

    value: Any
    origin: str
    """place where the program passes it: file:line"""

    @property
    def described(self) -> str:
        if inspect.isfunction(self.value):
            return "the lambda" if self.value.__name__ == "<lambda>" else f"{self.value.__name__}()"
        return type(self.value).__qualname__

    def methods(self) -> list[FunctionType]:
        """The methods that are called for each element."""
        if inspect.isfunction(self.value):
            return [self.value]
        kind = type(self.value)
        declared = [name for base in kind.__mro__ if _is_ours(base.__module__) for name in vars(base)]
        names = [name for name in declared if not name.startswith("_") and name not in _AROUND]
        return _own_methods(kind, [*names, *_UNDECLARED])

    def all_methods(self) -> list[FunctionType]:
        """All methods that the user has written."""
        if inspect.isfunction(self.value):
            return [self.value]
        kind = type(self.value)
        return _own_methods(kind, [name for base in kind.__mro__ for name in vars(base)])


def _own_methods(kind: type, names: list[str]) -> list[FunctionType]:
    found = (getattr(kind, name, None) for name in dict.fromkeys(names))
    return [each for each in found if isinstance(each, FunctionType) and is_users(each)]


def is_users(function: FunctionType) -> bool:
    """Whether a function belongs to the program, and not to a library."""
    return not _is_ours(function.__module__) and not function.__code__.co_filename.startswith(_LIBRARIES)


def functions_of(node: Node) -> Iterator[UserCode]:
    """The user code that a node calls for its elements; empty for sources and sinks."""
    if not node.is_source and not node.is_sink:
        yield from _with_origin(_search(node.spec.parts(), _DEPTH, set()), node.origin)
        if isinstance(node.spec, specs.TableStep):
            yield from _with_origin(_search(list(node.spec.config.wrappers()), _DEPTH, set()), node.origin)


def selectors_of(node: Node) -> Iterator[UserCode]:
    """The user code that selects the keys of a node's inputs."""
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
"""Largest number of functions that are examined for one of the user's."""


@dataclass(frozen=True, eq=False)
class Piece:
    """One function of the user code that runs."""

    function: FunctionType
    tree: Tree
    scope: Scope

    def origin(self, node: ast.AST) -> str:
        """The place of a syntax node in the function: file:line."""
        return f"{self.function.__code__.co_filename}:{getattr(node, 'lineno', self.tree.lineno)}"

    def calls(self) -> Iterator[tuple[str, ast.Call]]:
        """(called function, call) of all calls whose function is known by name."""
        for each in ast.walk(self.tree):
            if isinstance(each, ast.Call) and (dotted := self.scope.dotted(each.func)) is not None:
                yield dotted, each


def pieces(code: UserCode, methods: Sequence[FunctionType] | None = None) -> Iterator[Piece]:
    """All functions that run for an element, as far as their source is available; ``methods`` adds further ones to
    start from."""
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
    """Attribute -> the call that makes its value, from assignments in the object's methods: ``self.client =
    httpx.Client()``."""
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
