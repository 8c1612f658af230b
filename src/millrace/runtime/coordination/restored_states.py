"""Whether what functions do with restored state fits what it is: as far as that shows only when they are at work."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from millrace.common.typeinfo import PickledBytesTypeInfo
from millrace.runtime.jobs.job import JobGraph, OperatorInfo
from millrace.runtime.jobs.specs import TableStep
from millrace.runtime.protocol.epoch import OperatorReport
from millrace.runtime.state.info import StateInfo
from millrace.runtime.state.restoring.key_forms import Form, common, differ, form_text

GoesOn = Callable[[StateInfo, StateInfo], "str | None"]
"""(a state as it was, as its function asks for it now) -> why it can't go on so, None if it can"""


class RestoredStates:
    """The states and keys that a job has begun with."""

    def __init__(self) -> None:
        self.goes_on: GoesOn | None = None
        self._keys: dict[str, Form] = {}
        """uid -> what the keys of its state look like, until some have come"""

    def begun(self, job: JobGraph, reports: Sequence[OperatorReport]) -> None:
        """Tasks have taken over their state."""
        for report in reports:
            info = job.by_id[report.operator]
            if report.key_form is not None and _has_keys_of_one_kind(info):
                known = self._keys.setdefault(info.uid, report.key_form)
                self._keys[info.uid] = common(known, report.key_form)

    def problem(self, info: OperatorInfo, report: OperatorReport, states: Sequence[StateInfo]) -> str | None:
        """Why what a subtask reports does not go with what was restored; None: it does.

        :param states: those of the operator that are known.
        """
        if report.key_form is not None and info.uid in self._keys:
            before = self._keys.pop(info.uid)
            if differ(before, report.key_form):
                return _other_keys(before, report.key_form)
        if self.goes_on is None or report.states is None:
            return None
        known = {(state.scope, state.name): state for state in states if state.described is not None}
        asked = ((known.get((state.scope, state.name)), state) for state in report.states if state.type is not None)
        found = (self.goes_on(before, state) for before, state in asked if before is not None)
        return next((problem for problem in found if problem is not None), None)


def _has_keys_of_one_kind(info: OperatorInfo) -> bool:
    """Whether keys tell what an operator's state is of: queries say it themselves, and keys may be declared to be
    anything."""
    return not isinstance(info.spec, TableStep) and not isinstance(info.key_type, PickledBytesTypeInfo)


def _other_keys(before: Form, now: Form) -> str:
    return (
        f"the keys of its restored state are {form_text(before)}, those of what comes now are {form_text(now)}: none "
        f"would find its state. Key by what it was keyed by, give the operator another uid, or let its state be out of "
        f"reach (--allowNonRestoredState); key_by(..., key_type=Types.PICKLED_BYTE_ARRAY()) says that keys are of any "
        f"kind"
    )
