"""Keys of what controls jobs: the REST server, the web pages, history, the SQL gateway, commands and logs."""

from __future__ import annotations

from millrace.configuration.declared.rule import ignored, mapped, refused, works

CLUSTER = "cluster"
_HISTORY = "cli.history.command"
_OWN_SERVER = "Millrace's server is no server of Flink's: it keeps and answers as it needs"

TITLE = "REST, dashboard, history and gateway"
RULES = (
    works("rest.address", CLUSTER, "where the server is found"),
    works("rest.port", CLUSTER, "where the server is found; `none`: a program in the foreground has none", "ports"),
    works("rest.bind-address rest.bind-port", CLUSTER, "where the server listens"),
    works("web.submit.enable", CLUSTER, "whether programs may be uploaded"),
    works("web.cancel.enable", CLUSTER, "whether the dashboard may cancel jobs"),
    works("web.upload.dir", CLUSTER, "where uploaded programs go: its folder `flink-web-upload`"),
    works("web.refresh-interval", CLUSTER, "how often the dashboard asks"),
    works("jobmanager.archive.fs.dir", CLUSTER, "where finished jobs are archived, for history servers"),
    works(
        "jobstore.expiration-time jobstore.max-capacity completed-application-store.expiration-time "
        "completed-application-store.max-capacity",
        "cluster.places.retention",
        "for how long a cluster shows jobs that have ended, and how many",
    ),
    works(
        "historyserver.archive.retained-jobs historyserver.archive.retained-ttl",
        "cluster.history.retained",
        "how many archives a history server keeps, and for how long; it deletes others",
    ),
    ignored("historyserver.archive.clean-expired-jobs", "jobs whose archives are gone are not shown", "true"),
    works("historyserver.web.address historyserver.web.port", _HISTORY, "where the history server listens"),
    works("historyserver.web.refresh-interval", _HISTORY, "how often pages of the history server ask"),
    works(
        "historyserver.archive.fs.dir historyserver.archive.fs.refresh-interval",
        _HISTORY,
        "where the history server looks for archives, and how often",
    ),
    works("rest.server.max-content-length", CLUSTER, "most bytes of an uploaded program"),
    works("rest.async.store-duration", CLUSTER, "how long savepoints that are done can be asked for"),
    works(
        "sql-gateway.endpoint.rest.address sql-gateway.endpoint.rest.bind-address "
        "sql-gateway.endpoint.rest.bind-port",
        "cli.gateway",
        "where the gateway listens",
    ),
    works("sql-gateway.endpoint.rest.port", "cli.gateway", "where the gateway listens", "ports"),
    works(
        "sql-gateway.session.check-interval sql-gateway.session.idle-timeout sql-gateway.session.max-num",
        "cli.gateway",
        "how many sessions there are, and how long one may be idle",
    ),
    works("env.log.dir", "configuration.log_limits", "where logs go; of a cluster to a folder with its name there"),
    works("env.log.max", "configuration.log_limits", "how many older files of a log are kept"),
    works("env.ssh.opts", "cluster.standalone.layout", "options for ssh to the hosts of conf/workers and conf/masters"),
    mapped("env.log.level", "spark.log.level", "how much a Spark that Millrace starts logs"),
    refused("sql-gateway.endpoint.type", "the gateway speaks REST; nearest: its REST endpoint", "rest"),
    ignored("sql-gateway.endpoint.*", "the gateway has the endpoint `rest`, and listens where it is found"),
    ignored("sql-gateway.session.* sql-gateway.worker.*", _OWN_SERVER),
    refused(
        "historyserver.web.ssl.enabled security.ssl.rest.enabled web.ssl.enabled",
        "the server does not read keystores of Java; nearest: security.rest.certificate and security.rest.private-key",
        "false",
    ),
    ignored("security.ssl.rest.*", "the server does not read keystores of Java"),
    ignored("rest.flamegraph.* web.backpressure.*", "samples are taken when somebody asks for them"),
    ignored("rest.profiling.*", "there is no profiler of Java; nearest: the flame graph of Python"),
    ignored("rest.*", _OWN_SERVER),
    ignored("web.rescale.enable web.adaptive-scheduler.*", "a job changes its parallelism from a savepoint"),
    ignored("web.*", _OWN_SERVER),
    ignored("historyserver.*", _OWN_SERVER),
    ignored("completed-application-store.* jobstore.* job-result-store.*", _OWN_SERVER),
    ignored("application-result-store.* job-event.* cleanup-strategy.*", _OWN_SERVER),
    ignored("client.*", "the command waits for its job; nearest: -d, which does not"),
    ignored("env.stdout-err.redirect-to-file", "what processes of a cluster print is in its logs", "true"),
    ignored("env.pid.dir", "nearest: MILLRACE_RUN_DIR in the environment"),
    ignored("user.artifacts.*", "programs are files of this machine"),
)
