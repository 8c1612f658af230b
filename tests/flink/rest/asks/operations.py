"""All operations of the JobManager's REST API, and the paths that are served beside them."""

from __future__ import annotations

OPERATIONS = tuple(
    tuple(line.split())
    for line in """
GET /jobs
GET /jobs/metrics
GET /jobs/overview
GET /jobs/{jobid}
PATCH /jobs/{jobid}
GET /jobs/{jobid}/accumulators
GET /jobs/{jobid}/checkpoints
POST /jobs/{jobid}/checkpoints
GET /jobs/{jobid}/checkpoints/config
GET /jobs/{jobid}/checkpoints/details/{checkpointid}
GET /jobs/{jobid}/checkpoints/details/{checkpointid}/subtasks/{vertexid}
GET /jobs/{jobid}/checkpoints/{triggerid}
PATCH /jobs/{jobid}/clientHeartbeat
GET /jobs/{jobid}/config
GET /jobs/{jobid}/exceptions
GET /jobs/{jobid}/execution-result
GET /jobs/{jobid}/jobmanager/config
GET /jobs/{jobid}/jobmanager/environment
GET /jobs/{jobid}/jobmanager/log-url
GET /jobs/{jobid}/metrics
GET /jobs/{jobid}/plan
GET /jobs/{jobid}/rescales/config
GET /jobs/{jobid}/rescales/details/{rescaleuuid}
GET /jobs/{jobid}/rescales/history
PATCH /jobs/{jobid}/rescaling
GET /jobs/{jobid}/rescaling/{triggerid}
GET /jobs/{jobid}/resource-requirements
PUT /jobs/{jobid}/resource-requirements
POST /jobs/{jobid}/savepoints
GET /jobs/{jobid}/savepoints/{triggerid}
GET /jobs/{jobid}/status
POST /jobs/{jobid}/stop
GET /jobs/{jobid}/taskmanagers/{taskmanagerid}/log-url
GET /jobs/{jobid}/vertices/{vertexid}
GET /jobs/{jobid}/vertices/{vertexid}/accumulators
GET /jobs/{jobid}/vertices/{vertexid}/backpressure
GET /jobs/{jobid}/vertices/{vertexid}/flamegraph
GET /jobs/{jobid}/vertices/{vertexid}/jm-operator-metrics
GET /jobs/{jobid}/vertices/{vertexid}/metrics
GET /jobs/{jobid}/vertices/{vertexid}/subtasks/accumulators
GET /jobs/{jobid}/vertices/{vertexid}/subtasks/metrics
GET /jobs/{jobid}/vertices/{vertexid}/subtasks/{subtaskindex}
GET /jobs/{jobid}/vertices/{vertexid}/subtasks/{subtaskindex}/attempts/{attempt}
GET /jobs/{jobid}/vertices/{vertexid}/subtasks/{subtaskindex}/attempts/{attempt}/accumulators
GET /jobs/{jobid}/vertices/{vertexid}/subtasks/{subtaskindex}/metrics
GET /jobs/{jobid}/vertices/{vertexid}/subtasktimes
GET /jobs/{jobid}/vertices/{vertexid}/taskmanagers
GET /jobs/{jobid}/vertices/{vertexid}/watermarks
GET /jars
POST /jars/upload
DELETE /jars/{jarid}
POST /jars/{jarid}/plan
POST /jars/{jarid}/run
POST /jars/{jarid}/run-application
GET /taskmanagers
GET /taskmanagers/metrics
GET /taskmanagers/{taskmanagerid}
GET /taskmanagers/{taskmanagerid}/logs
GET /taskmanagers/{taskmanagerid}/metrics
GET /taskmanagers/{taskmanagerid}/thread-dump
GET /jobmanager/config
GET /jobmanager/environment
GET /jobmanager/logs
GET /jobmanager/metrics
GET /jobmanager/thread-dump
GET /applications/overview
GET /applications/{applicationid}
POST /applications/{applicationid}/cancel
GET /applications/{applicationid}/exceptions
GET /applications/{applicationid}/jobmanager/config
DELETE /cluster
GET /config
GET /datasets
GET /datasets/delete/{triggerid}
DELETE /datasets/{datasetid}
GET /overview
POST /savepoint-disposal
GET /savepoint-disposal/{triggerid}
""".strip().splitlines()
)
"""(method, path) of the 78 that Flink's description of its API lists"""
