"""What Flink's settings become on a Spark that Millrace starts."""

from __future__ import annotations

import pytest
from tests.corpus import corpus

from millrace.configuration.registry import options, with_new_names
from millrace.configuration.rule import Effect
from millrace.configuration.spark_settings import (
    Target,
    chooses_collector,
    environment,
    jars,
    java_options,
    spark_settings,
)

LOCAL, YARN, K8S = Target("local[4]", 4), Target("yarn", 10), Target("k8s://https://host", 10)
STANDALONE = Target("spark://host:7077", 10)
SAMPLES = {
    "boolean": ("true", "true"),
    "int": ("7", "7"),
    "long": ("7", "7"),
    "double": ("7.5", "7.5"),
    "duration": ("7 s", "7000ms"),
    "string": ("some/thing", "some/thing"),
    "list:string": ("a;b", "a,b"),
}


def direct() -> list[str]:
    rules = {key: option.rule for key, option in options().items()}
    return [key for key, rule in rules.items() if rule.effect is Effect.MAPPED and not rule.computed]


@corpus("key", direct(), 55)
def test_what_has_one_meaning(key: str) -> None:
    option = options()[key]
    target = K8S if key.startswith("kubernetes.") else YARN
    if option.fact.type == "map":
        found = spark_settings({key: "a.b/c:1,d:2"}, target)
        prefixes = [name.removesuffix("<key>") for name in option.rule.spark]
        assert found == {
            f"{prefix}{part}": value for prefix in prefixes for part, value in (("a.b/c", "1"), ("d", "2"))
        }
        return
    kind = option.fact.type
    value, meant = ("Always", "Always") if kind.startswith("enum:") else SAMPLES[kind]
    found = spark_settings({key: value}, target)
    assert found == dict.fromkeys(option.rule.spark, meant)


@pytest.mark.parametrize(
    ("settings", "target", "meant"),
    [
        (
            {"taskmanager.memory.process.size": "1728m"},
            YARN,
            {"spark.executor.memory": "512m", "spark.executor.memoryOverhead": "1216m"},
        ),
        (
            {"jobmanager.memory.process.size": "1600m"},
            K8S,
            {"spark.driver.memory": "1024m", "spark.driver.memoryOverhead": "576m"},
        ),
        ({"taskmanager.memory.task.heap.size": "1g"}, STANDALONE, {"spark.executor.memory": "1152m"}),
        # Spark refuses less than 450 mb, of which a simple collector keeps some for itself.
        (
            {"taskmanager.memory.process.size": "1g"},
            STANDALONE,
            {"spark.executor.memory": "480m", "spark.executor.memoryOverhead": "544m"},
        ),
        # One process has the heaps of both, and never less than Millrace gives it anyway.
        (
            {"taskmanager.memory.process.size": "1728m", "jobmanager.memory.process.size": "1600m"},
            LOCAL,
            {"spark.driver.memory": "1536m"},
        ),
        ({"taskmanager.memory.process.size": "1728m"}, LOCAL, {"spark.driver.memory": "768m"}),
        (
            {"taskmanager.numberOfTaskSlots": "4"},
            YARN,
            {"spark.executor.cores": "4", "spark.executor.instances": "3"},
        ),
        ({"taskmanager.numberOfTaskSlots": "4"}, STANDALONE, {"spark.executor.cores": "4"}),
        ({"taskmanager.numberOfTaskSlots": "4"}, LOCAL, {}),
        (
            {"taskmanager.numberOfTaskSlots": "4", "spark.dynamicAllocation.enabled": "true"},
            K8S,
            {"spark.executor.cores": "4"},
        ),
        (
            {"taskmanager.numberOfTaskSlots": "2", "yarn.containers.vcores": "3"},
            YARN,
            {"spark.executor.cores": "3", "spark.executor.instances": "5"},
        ),
        ({"yarn.heartbeat.interval": "5"}, YARN, {"spark.yarn.scheduler.heartbeat.interval-ms": "5000"}),
        ({"yarn.application.queue": "q"}, K8S, {}),
        ({"kubernetes.namespace": "n"}, YARN, {}),
        (
            {"kubernetes.taskmanager.cpu.amount": "2.0", "kubernetes.taskmanager.cpu.limit-factor": "1.5"},
            K8S,
            {"spark.kubernetes.executor.request.cores": "2.0", "spark.kubernetes.executor.limit.cores": "3"},
        ),
        (
            {"kubernetes.env.secretKeyRef": "env:PASS,secret:db,key:word;env:B,secret:s,key:k"},
            K8S,
            {
                "spark.kubernetes.driver.secretKeyRef.PASS": "db:word",
                "spark.kubernetes.executor.secretKeyRef.PASS": "db:word",
                "spark.kubernetes.driver.secretKeyRef.B": "s:k",
                "spark.kubernetes.executor.secretKeyRef.B": "s:k",
            },
        ),
        (
            {"containerized.master.env.A": "1", "containerized.taskmanager.env.B": "2"},
            YARN,
            {"spark.yarn.appMasterEnv.A": "1", "spark.executorEnv.B": "2"},
        ),
        ({"containerized.master.env.A": "1"}, K8S, {"spark.kubernetes.driverEnv.A": "1"}),
        (
            {"flink.hadoop.fs.s3a.x": "1", "flink.yarn.client.y": "2"},
            STANDALONE,
            {"spark.hadoop.fs.s3a.x": "1", "spark.hadoop.yarn.client.y": "2"},
        ),
        ({"security.ssl.internal.enabled": "true"}, LOCAL, {}),
        ({"my.key": "1", "heartbeat.timeout": "1 s", "parallelism.default": "3"}, YARN, {}),
    ],
)
def test_what_is_computed(settings: dict[str, str], target: Target, meant: dict[str, str]) -> None:
    assert spark_settings(settings, target) == meant


def test_older_names_mean_the_same() -> None:
    assert spark_settings(with_new_names({"kubernetes.container.image": "mine:1"}), K8S) == {
        "spark.kubernetes.container.image": "mine:1"
    }
    accounts = spark_settings(with_new_names({"kubernetes.service-account": "sa"}), K8S)
    assert accounts["spark.kubernetes.authenticate.driver.serviceAccountName"] == "sa"
    assert accounts["spark.kubernetes.authenticate.executor.serviceAccountName"] == "sa"


def test_options_of_the_jvms() -> None:
    given = {"env.java.opts.all": "-Da=1", "env.java.opts.jobmanager": "-Db=2", "env.java.opts.taskmanager": "-Dc=3"}
    assert java_options(given, YARN) == ("-Da=1 -Db=2", "-Da=1 -Dc=3")
    assert java_options(given, LOCAL) == ("-Da=1 -Db=2 -Dc=3", "-Da=1 -Dc=3")
    assert java_options({}, LOCAL) == ("", "")
    assert chooses_collector("-Da=1 -XX:+UseG1GC")
    assert not chooses_collector("-XX:+UseStringDeduplication")


def test_variables_of_the_environment() -> None:
    given = {"env.java.home": "/jdk", "env.hadoop.conf.dir": "/hadoop", "env.yarn.conf.dir": "/yarn"}
    assert environment(given, {"HADOOP_CONF_DIR": "/mine"}) == {"JAVA_HOME": "/jdk", "YARN_CONF_DIR": "/yarn"}
    assert environment({}, {}) == {}


def test_jars() -> None:
    assert jars({"pipeline.jars": "file:///a.jar;/b.jar", "pipeline.classpaths": "/c.jar"}) == [
        "file:///a.jar", "/b.jar", "/c.jar"
    ]  # fmt: skip
