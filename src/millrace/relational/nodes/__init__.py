"""The nodes of a relational plan. Frozen; every node knows its columns (``schema``), and describes itself.

A plan is made by the SQL front end or the Table API, changed by rules, and run by Spark (batch) or by the runtime
(streaming). The same nodes describe both: what is streaming about a query is decided by how it is run.
"""

from millrace.relational.fields import PROCTIME, ROWTIME, Field, Schema
from millrace.relational.nodes.aggregation import Aggregate, TableAggregate
from millrace.relational.nodes.base import Rel, find, walk
from millrace.relational.nodes.changelogs import FromChangelog, ToChangelog
from millrace.relational.nodes.joins import JOIN_KINDS, IntervalJoin, Join, LookupJoin, TemporalJoin, WindowJoin
from millrace.relational.nodes.leaves import Scan, StreamScan, Values
from millrace.relational.nodes.matches import Match
from millrace.relational.nodes.ranking import Deduplicate, Over, Rank
from millrace.relational.nodes.rows import Correlate, Expand, Filter, Hinted, Project, Watermark
from millrace.relational.nodes.sets import SetOp, Sort
from millrace.relational.nodes.sinks import Sink
from millrace.relational.nodes.windows import Emission, WindowAggregate, WindowSpec, WindowTable

__all__ = [
    "JOIN_KINDS",
    "PROCTIME",
    "ROWTIME",
    "Aggregate",
    "Correlate",
    "Deduplicate",
    "Emission",
    "Expand",
    "Field",
    "Filter",
    "FromChangelog",
    "Hinted",
    "IntervalJoin",
    "Join",
    "LookupJoin",
    "Match",
    "Over",
    "Project",
    "Rank",
    "Rel",
    "Scan",
    "Schema",
    "SetOp",
    "Sink",
    "Sort",
    "StreamScan",
    "TableAggregate",
    "TemporalJoin",
    "ToChangelog",
    "Values",
    "Watermark",
    "WindowAggregate",
    "WindowJoin",
    "WindowSpec",
    "WindowTable",
    "find",
    "walk",
]
