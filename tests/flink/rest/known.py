"""Where Millrace answers otherwise than Flink, by reason."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from tests.flink.rest.differences import Difference


@dataclass(frozen=True)
class Known:
    """A reason, and the differences that it holds for: "*" stands for any text."""

    reason: str
    asked: str
    """the keys of requests or command lines: "rest GET /jobs/{jobid}/vertices/*" """
    place: str = "*"
    ours: str = "*"

    def explains(self, difference: Difference) -> bool:
        pairs = ((self.asked, difference.asked), (self.place, difference.place), (self.ours, difference.ours))
        return all(re.fullmatch(re.escape(pattern).replace(r"\*", ".*"), text, re.DOTALL) for pattern, text in pairs)


_VERTEX = "* GET /jobs/{jobid}/vertices/{vertexid}"
KNOWN: tuple[Known, ...] = (
    Known(
        "what a source's time is spent on is measured, too; Flink doesn't know it of sources",
        "*",
        "body*busy*",
    ),
    Known(
        "what a source's time is spent on is measured, too; Flink doesn't know it of sources",
        "*get=0.busyTimeMsPerSecond",
    ),
    Known("there are no Java objects that could be serialized", "*", "*/serialized-throwable"),
    Known("the class of a failure is Python's, or that of Millrace", "*", "*/class"),
    Known("the class of a failure is Python's, or that of Millrace", "*", "*/exceptionName"),
    Known("flame graphs are on: samples are taken when somebody asks for them", f"{_VERTEX}/flamegraph*"),
    Known("Flink remembers back pressure of a job that has just ended", f"{_VERTEX}/backpressure*", "body*", "missing"),
    Known(
        "Flink remembers back pressure of a job that has just ended",
        f"{_VERTEX}/backpressure*",
        "body/status",
        "=deprecated",
    ),
    Known("Spark's network and memory have other metrics; there are no mailboxes", "*/metrics*", "metrics"),
    Known("Spark's network and memory have other metrics; there are no mailboxes", "*manager*/metrics get=Status*"),
    Known("an id that is none is refused everywhere", "*/log-url a malformed jobid"),
    Known("two slashes in front of a path are what stands in front of addresses: the rest is the path", "* GET //*"),
    Known("texts say how they are encoded", "*", "content-type", "text/*;charset=utf-8"),
    Known("texts say how they are encoded", "history *", "content-type", "application/json;charset=utf-8"),
    Known("archives don't hold what ran the cluster", "history */jobmanager/environment*", "status"),
    Known("a wrong method is an unknown path, as Flink's other servers have it", "history PATCH *"),
    Known("the server is a Python program: it has no options of a JVM", "*environment*", "body/jvm/options"),
    Known("other memory of executors, and their garbage collectors, are in Spark's pages", "*", "body/metrics/*"),
    Known("profiles are shown as if profiling were on, without any; nearest: flame graphs", "*/profiler*"),
    Known("jars are Python programs and archives here", "* POST /jars/upload*"),
    Known("jars are Python programs and archives here", "* /jars/{jarid}* one that is broken"),
    Known("where uploaded programs lie is not told", "* DELETE /jars/*", "body/errors"),
    Known("where uploaded programs lie is not told", "* POST /jars/{jarid}/* no such program*", "body/errors"),
    Known("where uploaded programs lie is not told", "* GET /jars/{jarid}/plan no such program*", "body/errors"),
    Known("an error names what was asked for, not an object in memory", "*/{triggerid} no such request", "body/errors"),
    Known("programs are uploaded, graphs of jobs are not", "* POST /jobs not GET*"),
    Known("the plan of a batch job knows neither keys nor blocking exchanges", "* batch job*", "body*/exchange"),
    Known("the plan of a batch job knows neither keys nor blocking exchanges", "* batch job*", "body*/ship_strategy"),
    Known("rows of a query may be there with the first page, which then may be had again", "gateway *, the last page*"),
    Known("the beginning of a job in SHOW JOBS is a text", "gateway *_job*", "body/results/columns/[3]/*"),
    Known("the gateway knows the jobs of the test, not those of a whole cluster", "*show_jobs*", "*/data"),
    Known("keywords are completed, too, and names as short as they can be", "*complete-statement*", "*/candidates"),
    Known("a position beyond the end of a statement is its end", "gateway *complete-statement SE at 99*", "status"),
    Known("numbers keep the zeros of their scale", "gateway *decimals_json*", "body/results/data/*"),
    Known("intervals have the type that was written", "gateway *intervals_*", "*/resolution"),
    Known("maps whose keys are no texts are written, with their keys as JSON", "gateway *maps_json*", "status"),
    Known("SET shows what is set, not what a JVM was started with", "gateway *set_alone*", "body/results/data/*"),
    Known("changes of one epoch are put together", "gateway *changes_*", "body/results/data"),
    Known("settings are texts, and checked when they are made", "gateway POST /v2/sessions *property*", "status"),
    Known("a query that fails is told to have failed", "gateway *fails_later*", "status"),
    Known("a set of statements is one statement, from BEGIN to END", "gateway *begin*"),
    Known("what is no statement is refused at once", "gateway POST */statements *", "status", "500"),
    Known("what is no statement is refused at once", "gateway POST */statements *", "status", "400"),
    Known("a timeout of a statement ends it", "gateway POST */statements a timeout*", "status"),
    Known("nearest to scripts: `millrace sql -f`; there are no materialized tables", "gateway POST */scripts*"),
    Known("nearest to scripts: `millrace sql -f`; there are no materialized tables", "gateway POST */refresh*"),
)
"""The first that fits counts."""


def by_reason(known: Mapping[Known, Sequence[Difference]]) -> dict[Known, list[Difference]]:
    """What has the same reason, under the first that names it."""
    firsts: dict[str, Known] = {}
    together: dict[Known, list[Difference]] = {}
    for each, found in known.items():
        together.setdefault(firsts.setdefault(each.reason, each), []).extend(found)
    return together


def explained(
    differences: Iterable[Difference], known: Sequence[Known] = KNOWN
) -> tuple[dict[Known, list[Difference]], list[Difference]]:
    """What is known, by reason (also reasons that hold for nothing), and what is not."""
    reasons: dict[Known, list[Difference]] = {each: [] for each in known}
    others: list[Difference] = []
    for difference in differences:
        reason = next((each for each in known if each.explains(difference)), None)
        (others if reason is None else reasons[reason]).append(difference)
    return reasons, others
