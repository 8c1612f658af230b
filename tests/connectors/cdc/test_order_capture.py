"""The demo from end to end: two databases that change, one query, and an index that follows them."""

from __future__ import annotations

import time
import uuid
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
from psycopg.rows import dict_row
from tests.connectors.cdc.postgres.capturing import Captured
from tests.crash.running import ROOT
from tests.local_jobs import FinishedJob

from millrace.common.jobs.job_execution_result import JobExecutionResult
from millrace.datastream import StreamExecutionEnvironment
from millrace.testing.local import LocalEngine, LocalRun
from millrace.testing.services import MariaDB, OpenSearch, PostgreSQL

DEADLINE_SECONDS = 120.0
pytestmark = pytest.mark.services
