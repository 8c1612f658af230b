"""Every description has its operator."""

from __future__ import annotations

from millrace.runtime.bases.operator import Operator, ReadingOperator
from millrace.runtime.operators import specs
from millrace.runtime.operators.making import BATCH, STREAMING
from millrace.runtime.operators.sinks import SinkOperator
from millrace.util import plugins


def operators(group: str) -> dict[type[specs.Spec], type[Operator]]:
    return {getattr(specs, name): plugins.load(group, name) for name in plugins.names(group)}


def test_every_description_has_an_operator() -> None:
    described = {kind for kind in vars(specs).values() if isinstance(kind, type) and issubclass(kind, specs.Spec)}
    # A window's depends on what kind it is, that of a step of a table program on its configuration.
    streaming, batch = operators(STREAMING), operators(BATCH)
    assert set(streaming) == described - {specs.Spec, specs.ReadsSplits, specs.Commits, specs.Window, specs.TableStep}
    assert set(batch) <= set(streaming)
    for operator in {*streaming.values(), *batch.values()}:
        assert issubclass(operator, Operator)


def test_descriptions_say_what_operators_do() -> None:
    for spec, operator in operators(STREAMING).items():
        assert issubclass(spec, specs.ReadsSplits) == issubclass(operator, ReadingOperator)
        assert issubclass(spec, specs.Commits) == issubclass(operator, SinkOperator), spec
