"""The base of all handles of the DataStream API, and the handles that a stream ends in."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import TYPE_CHECKING, Any, TypeVar

from millrace.common.functions.callables import as_key_selector
from millrace.common.state import MapStateDescriptor
from millrace.common.typeinfo import RowTypeInfo, TupleTypeInfo, TypeInformation
from millrace.datastream.function_adapters import refuse_generator
from millrace.datastream.slot_sharing_group import SlotSharingGroup
from millrace.graph.program import Chaining, Edge, GraphError, Node
from millrace.runtime.exchange import partitioners
from millrace.util.fallback import HasOlderNames
from millrace.util.tracebacks import user_origin

if TYPE_CHECKING:
    from typing_extensions import Self

    from millrace.datastream.data_stream import DataStream
    from millrace.datastream.stream_execution_environment import StreamExecutionEnvironment


OTHER_ENVIRONMENT = "the streams belong to different environments: make all streams of a job with the same one"

F = TypeVar("F")
"""Type of a user function."""


@dataclass(frozen=True)
class Port:
    """An output of an operator that a stream's elements come from."""

    node: int
    tag: str | None = None
    partitioner: partitioners.Partitioner | None = None

    def edge(self, input: int = 0) -> Edge:
        return Edge(self.node, self.partitioner, self.tag, input)


class _NodeHandle(HasOlderNames):
    """A handle on exactly one operator, whose name, uid, parallelism and chaining can be changed."""

    _env: StreamExecutionEnvironment

    def _node(self, method: str) -> Node:
        """The operator; if there is none, raises an error that names ``method``."""
        raise NotImplementedError

    def _change(self, method: str, **changes: Any) -> Self:
        self._env._program.change(self._node(method).id, **changes)
        return self

    def get_name(self) -> str:
        """The operator's name, without the ``Source: `` and ``Sink: `` that plan and errors put in front.

        >>> env.from_collection([1]).map(str).name("as text").get_name()
        'as text'
        """
        node = self._node("get_name")
        return node.name.removeprefix(node.kind)

    def name(self, name: str) -> Self:
        """Name the operator, for plan, metrics and errors.

        >>> env.from_collection([1]).map(str).name("as text").get_name()
        'as text'
        """
        kind = self._node("name").kind
        return self._change("name", name=kind + name.removeprefix(kind))

    def uid(self, uid: str) -> Self:
        """Identify the operator's state across versions of the program. Must be unique in the job.

        >>> counted = env.from_collection(["a"]).key_by(lambda word: word).map(lambda word: (word, 1)).uid("count")
        """
        return self._change("uid", uid=uid)

    def set_parallelism(self, parallelism: int) -> Self:
        """How many subtasks the operator has.

        >>> slow = env.from_collection([1, 2]).map(lambda n: n + 1).set_parallelism(4)
        """
        node = self._node("set_parallelism")
        if parallelism < 1:
            raise GraphError(f"{node.described}: its parallelism must be at least 1, not {parallelism}")
        if node.non_parallel and parallelism != 1:
            raise GraphError(f"{node.described} runs in one subtask only: its parallelism can't be {parallelism}")
        return self._change("set_parallelism", parallelism=parallelism)

    def set_uid_hash(self, uid_hash: str) -> Self:
        """Identify the operator by the hash that an earlier version derived (32 hexadecimal digits)."""
        if len(uid_hash) != 32 or not all(digit in "0123456789abcdef" for digit in uid_hash.lower()):
            raise ValueError(f"a uid hash has 32 hexadecimal digits, got {uid_hash!r}")
        return self._change("set_uid_hash", uid_hash=uid_hash.lower())

    def set_description(self, description: str) -> Self:
        """A longer text than the name, for the plan.

        >>> told = env.from_collection([1]).map(str).set_description("a number as text")
        """
        return self._change("set_description", description=description)

    def disable_chaining(self) -> Self:
        """Never chain this operator with its neighbours.

        >>> alone = env.from_collection([1]).map(str).disable_chaining()
        """
        return self._change("disable_chaining", chaining=Chaining.NEVER)

    def slot_sharing_group(self, slot_sharing_group: str | SlotSharingGroup) -> Self:
        """Operators of different groups never share a task.

        >>> heavy = env.from_collection([1]).map(str).slot_sharing_group("heavy")
        """
        if isinstance(slot_sharing_group, SlotSharingGroup):
            self._env.register_slot_sharing_group(slot_sharing_group)
            slot_sharing_group = slot_sharing_group.get_name()
        return self._change("slot_sharing_group", slot_sharing_group=slot_sharing_group)


class DataStreamSink(_NodeHandle):
    """The end of a stream.

    >>> sink = env.from_collection([1]).print().name("shown").set_parallelism(1)
    >>> result = env.execute()
    1
    """

    def __init__(self, env: StreamExecutionEnvironment, node_id: int) -> None:
        self._env = env
        self._id = node_id

    def _node(self, method: str) -> Node:
        return self._env._program.node(self._id)


class CloseableIterator(Iterator[Any]):
    """The elements that a job collects, while it runs. Closing it before its end cancels the job.

    >>> with env.from_collection([1, 2]).execute_and_collect() as numbers:
    ...     print(next(numbers))
    1
    """

    def __init__(self, values: Iterator[Any], close: Callable[[], None]) -> None:
        self._values = values
        self._close = close

    def __iter__(self) -> CloseableIterator:
        return self

    def __next__(self) -> Any:
        return next(self._values)

    def next(self) -> Any:
        """The next element; raises StopIteration at the end of the job."""
        return next(self._values)

    def close(self) -> None:
        """Stop the job whose elements these are, if it still runs."""
        self._close()

    def __enter__(self) -> CloseableIterator:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()


def expect(value: Any, expected: type, where: str) -> None:
    """Raises a ``TypeError`` with the user's line if ``value`` is no ``expected``."""
    if isinstance(value, expected):
        return
    kind = type(value).__name__
    what = "not a function" if kind == "function" else f"not {kind}"
    if isinstance(value, type):
        what = f"not the class {value.__name__}"
        if issubclass(value, expected):
            what += f": did you mean {value.__name__}()?"
    if kind == "function" and "process()" in where:
        what += ": map(), filter() and flat_map() take functions"
    article = "an" if expected.__name__[0] in "AEIOU" else "a"
    raise TypeError(f"{where} at {user_origin()} takes {article} {expected.__name__}, {what}")


def checked_type(declared: Any) -> TypeInformation | None:
    """The type that the user declared, None for none. A Python type is refused here, since it would fail in a task
    only."""
    if declared is not None and not isinstance(declared, TypeInformation):
        raise TypeError(f"the type at {user_origin()} must be a TypeInformation such as Types.INT(), not {declared!r}")
    return declared


def _function(adapt: Callable[[Any], F], func: Any, where: str) -> F:
    try:
        return adapt(func)
    except TypeError as error:
        raise TypeError(f"{where} at {user_origin()}: {error}") from None


def _type_of_field(key_selector: Any, elements: TypeInformation | None) -> TypeInformation | None:
    """The type of the field that is the key; None: unknown."""
    if not isinstance(elements, (RowTypeInfo, TupleTypeInfo)) or not isinstance(key_selector, (str, int)):
        return None
    types = elements.get_field_types()
    names = elements.get_field_names() if isinstance(elements, RowTypeInfo) else []
    if isinstance(key_selector, str):
        return types[names.index(key_selector)] if key_selector in names else None
    return types[key_selector] if 0 <= key_selector < len(types) else None


def _key_function(key_selector: Any, where: str) -> Callable[[Any], Any]:
    if isinstance(key_selector, (str, int)) and not isinstance(key_selector, bool):
        return itemgetter(key_selector)
    refuse_generator(key_selector, "get_key", where)
    return _function(as_key_selector, key_selector, where).get_key


# Broadcast streams


class BroadcastStream:
    """A broadcast stream, which ``DataStream.broadcast(descriptor, ...)`` returns: ``connect`` another stream with it.

        >>> rules = MapStateDescriptor("rules", Types.STRING(), Types.INT())
        >>> told = env.from_collection([("limit", 3)]).broadcast(rules)
        >>> both = env.from_collection([2, 5]).connect(told)

    :raises TypeError: something else than a ``MapStateDescriptor``.
    :raises ValueError: two descriptors of one name, or one with a time to live, which broadcast state has not.
    """

    def __init__(self, input_stream: DataStream, broadcast_state_descriptors: Sequence[MapStateDescriptor]) -> None:
        self.input_stream = input_stream
        self.broadcast_state_descriptors = list(broadcast_state_descriptors)
        names: set[str] = set()
        for descriptor in self.broadcast_state_descriptors:
            _check(descriptor, names)
            names.add(descriptor.get_name())


def _check(descriptor: MapStateDescriptor, names: set[str]) -> None:
    where = f"broadcast() at {user_origin()}"
    if not isinstance(descriptor, MapStateDescriptor):
        raise TypeError(f"{where}: broadcast state is described by a MapStateDescriptor, not {descriptor!r}")
    name = descriptor.get_name()
    if name in names:
        raise ValueError(f"{where}: two broadcast states have the name {name!r}; each needs its own")
    if descriptor.get_ttl_config() is not None:
        raise ValueError(f"{where}: broadcast state {name!r} can't have a time to live; only keyed state can")
