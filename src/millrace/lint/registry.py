"""All rules, in the order of their codes."""

from __future__ import annotations

from millrace.lint.facts.rule import Rule
from millrace.lint.rules import (
    attribute_state,
    blocking_call,
    growing_state,
    growing_tables,
    job_in_loop,
    large_closure,
    lost_results,
    needless_exchange,
    no_checkpoints,
    no_uid,
    no_watermarks,
    one_subtask,
    outer_variable,
    random_key,
)

RULES: tuple[Rule, ...] = (
    growing_state.RULE,
    growing_tables.RULE,
    random_key.RULE,
    no_watermarks.RULE,
    large_closure.RULE,
    blocking_call.RULE,
    no_uid.RULE,
    needless_exchange.RULE,
    no_checkpoints.RULE,
    one_subtask.RULE,
    lost_results.RULE,
    outer_variable.RULE,
    attribute_state.RULE,
    job_in_loop.RULE,
)
