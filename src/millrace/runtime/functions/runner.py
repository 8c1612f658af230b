"""The life of the user's functions in a subtask, and the errors that they raise.

A wrapper (``UdfCall.function``, ``AggCall.udf``, ``Correlate.udf``) has ``name``, ``function`` (an object with
``open``, ``close`` and the methods of its kind), ``vectorized``, ``asynchronous``, and ``result_type``, or ``row_type``
of a table function.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from millrace.runtime.asynchronous.loop import LoopThread
from millrace.runtime.bases.base import NO_ELEMENT, OperatorContext
from millrace.runtime.failure import OperatorError
from millrace.runtime.functions.asynchronous import AsyncSettings, call_all
from millrace.runtime.functions.context import TaskFunctionContext


class FunctionRunner:
    """All functions of one operator in one subtask: each is opened and closed once, however often the plan has it.

    The modules beside this one call the functions: ``scalars``, ``tables``, ``groups`` and ``accumulators``.
    """

    def __init__(
        self, context: OperatorContext, configuration: Mapping[str, str], wrappers: Iterable[Any] = ()
    ) -> None:
        self.configuration = configuration
        self.context = context
        self._wrappers = {id(wrapper): wrapper for wrapper in wrappers}
        self._functions = {id: wrapper.function for id, wrapper in self._wrappers.items()}
        self._opened: list[int] = []
        self._settings = AsyncSettings()
        self._loop: LoopThread | None = None

    def __bool__(self) -> bool:
        """Whether there are functions."""
        return bool(self._functions)

    def of(self, wrapper: Any) -> Any:
        """The function object of a wrapper."""
        return self._functions[id(wrapper)]

    def open(self) -> None:
        """Open the functions, and start the event loop of asynchronous ones.

        :raises OperatorError: a function cannot be opened; those before it are closed by ``close``.
        :raises ValueError: an option of asynchronous functions is not understood.
        """
        if any(each.asynchronous for each in self._wrappers.values()):
            self._settings = AsyncSettings.of(self.configuration)
            self._loop = LoopThread("millrace-async-udf")
            self._loop.start()
        metrics = self.configuration.get("python.metric.enabled", "true") == "true"
        for id, function in self._functions.items():
            try:
                function.open(TaskFunctionContext(self.context.runtime, metrics))
            except Exception as error:
                raise self.error(error, f"open() of {self._wrappers[id].name}") from error
            self._opened.append(id)

    def close(self) -> None:
        """Close the functions that were opened, all of them even if one fails.

        :raises OperatorError: the first one that failed.
        """
        opened, self._opened = self._opened, []
        failed: OperatorError | None = None
        for id in opened:
            try:
                self._functions[id].close()
            except Exception as error:
                failed = failed or self.error(error, f"close() of {self._wrappers[id].name}")
        loop, self._loop = self._loop, None
        if loop is not None:
            loop.close()
        if failed is not None:
            raise failed

    def __enter__(self) -> FunctionRunner:
        try:
            self.open()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def error(self, error: BaseException, where: str, args: Any = NO_ELEMENT) -> OperatorError:
        """What to raise when the user's code failed.

        :param where: the method, e.g. ``open() of name``.
        :param args: what it was called with.
        """
        return self.context.error(error, args, f" in {where}")

    def concurrently(self, function: Any, rows: Sequence[tuple[Any, ...]]) -> list[Any]:
        """The results of an asynchronous function, as ``table.exec.async-scalar.*`` says. Errors as ``call_all``."""
        assert self._loop is not None, "the runner is open"
        return call_all(self._loop, function, rows, self._settings)
