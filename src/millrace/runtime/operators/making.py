"""Makes the operator that runs a description of ``specs``.

Which one it is say entry points, by the description's name: so a job imports the operators that it has, and no others.
"""

from __future__ import annotations

from millrace.runtime.bases.operator import Operator
from millrace.runtime.operators import specs
from millrace.runtime.windows.choice import window_operator
from millrace.util import plugins

STREAMING = "millrace.operators"
"""entry points: the name of a description -> the class of its operator"""
BATCH = "millrace.operators.batch"
"""as ``STREAMING``, for descriptions whose operator in batch mode is another one"""


def make_operator(spec: specs.Spec, final: bool) -> Operator:
    """A new operator for a subtask.

    :param final: whether only final results are wanted: the form of batch mode.
    :raises LookupError: no installed package has an operator for the description.
    """
    if isinstance(spec, specs.TableStep):
        return spec.config.operator()
    return operator_class(spec, final)(*spec.parts())


def operator_class(spec: specs.Spec, final: bool) -> type[Operator]:
    """The class of the operator that runs a description. Checkpoints record its name.

    :raises LookupError: no installed package has an operator for the description.
    """
    if isinstance(spec, specs.Window):
        return window_operator(spec.strategy, final)
    if isinstance(spec, specs.TableStep):
        return type(spec.config.operator())
    name = type(spec).__name__
    found: type[Operator] = plugins.load(BATCH if final and plugins.has(BATCH, name) else STREAMING, name)
    return found
