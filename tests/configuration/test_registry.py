"""Every key of Flink is known, with its older names, and there is one rule for it."""

from __future__ import annotations

import ast
import importlib.util
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.corpus import corpus

from millrace.common.configuration import ConfigOption
from millrace.configuration import own_options
from millrace.configuration.registry import TOPICS, find, options, with_new_names
from millrace.configuration.rule import Effect

CATALOGUED = """
    akka.ask.timeout akka.transport.heartbeat.pause blob.server.port classloader.resolve-order
    cluster.evenly-spread-out-slots env.hadoop.conf.dir env.java.home env.java.opts env.java.opts.taskmanager
    env.log.dir env.ssh.opts execution.buffer-timeout execution.checkpointing.interval execution.runtime-mode
    execution.target fs.default-scheme heartbeat.interval high-availability high-availability.zookeeper.path.jobgraphs
    historyserver.archive.fs.dir historyserver.web.port io.tmp.dirs jobmanager.archive.fs.dir jobmanager.heap.size
    jobmanager.memory.process.size jobmanager.rpc.address jobstore.cache-size kubernetes.cluster-id
    kubernetes.container.image kubernetes.jobmanager.cpu mesos.master metrics.latency.granularity
    metrics.reporter.prom.class metrics.reporters metrics.scope.jm.job metrics.scope.operator metrics.system-resource
    parallelism.default pipeline.jars pipeline.operator-chaining python.execution-mode python.fn-execution.bundle.size
    python.fn-execution.memory.managed queryable-state.enable rest.bind-port rest.port restart-strategy
    restart-strategy.failure-rate.delay security.kerberos.login.keytab security.ssl.rest.keystore-password
    slotmanager.number-of-slots.max sql-client.execution.result-mode sql-gateway.endpoint.rest.port state.backend
    state.backend.async state.backend.fs.checkpointdir state.backend.incremental
    state.backend.rocksdb.writebuffer.number-to-merge state.checkpoints.dir state.savepoints.dir
    table.exec.mini-batch.enabled table.exec.state.ttl table.local-time-zone table.optimizer.agg-phase-strategy
    task.cancellation.timeout taskmanager.data.port taskmanager.memory.managed.fraction
    taskmanager.memory.network.fraction taskmanager.memory.process.size taskmanager.network.credit.model
    taskmanager.network.memory.fraction taskmanager.network.netty.transport taskmanager.numberOfTaskSlots
    web.backpressure.num-samples web.refresh-interval web.submit.enable web.upload.dir yarn.application.queue
    yarn.per-job-cluster.include-user-jar yarn.provided.lib.dirs yarn.tags zookeeper.sasl.disable
    table.exec.async-state.enabled state.backend.forst.cache.dir pekko.framesize cleanup-strategy.type
"""
"""keys of old and new documents on Flink, of every family"""


@corpus("key", CATALOGUED.split(), 86)
def test_what_documents_name_is_known(key: str) -> None:
    assert find(key) is not None


def test_each_rule_is_for_some_key() -> None:
    decided = {option.rule for option in options().values()}
    assert [rule.keys for topic in TOPICS for rule in topic.rules if rule not in decided] == []
    single = [key for topic in TOPICS for rule in topic.rules for key in rule.keys if not key.endswith("*")]
    assert [key for key in single if key not in options()] == []


def test_no_key_has_two_rules() -> None:
    keys = Counter(key for topic in TOPICS for rule in topic.rules for key in rule.keys)
    assert [key for key, count in keys.items() if count > 1] == []


def test_each_rule_says_what_belongs_to_it() -> None:
    for option in options().values():
        assert (option.rule.effect is Effect.WORKS) == bool(option.rule.reader), option.key
        assert (option.rule.effect is Effect.MAPPED) == bool(option.rule.spark), option.key
        assert option.rule.note or option.rule.effect in (Effect.WORKS, Effect.MAPPED), option.key


def test_what_works_is_read_by_its_module() -> None:
    """The key stands in the module that is said to read it: as a whole, as parts that are put together there, or as an
    option of ``own_options``."""
    working = [option for option in options().values() if option.rule.effect is Effect.WORKS and "<" not in option.key]
    texts = {reader: set(_texts(reader)) for reader in {option.rule.reader for option in working}}
    unread = {option.key for option in working if not _spelled(option.key, texts[option.rule.reader])}
    assert unread == set(), "these are not read where their rules say"


def _texts(reader: str) -> Iterator[str]:
    """The texts in a module, or in all modules of a package."""
    try:
        spec = importlib.util.find_spec(f"millrace.{reader}")
    except ModuleNotFoundError:
        return
    if spec is None or spec.origin is None:
        return
    folders = [Path(folder) for folder in spec.submodule_search_locations or ()]
    for file in [Path(spec.origin)] if not folders else [file for folder in folders for file in folder.rglob("*.py")]:
        text = file.read_text("utf-8")
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                yield node.value
            elif isinstance(node, (ast.Name, ast.Attribute)) and "own_options" in text:
                name = node.id if isinstance(node, ast.Name) else node.attr
                option = getattr(own_options, name, None)
                if isinstance(option, ConfigOption):
                    yield option.key


def _spelled(key: str, texts: set[str]) -> bool:
    if key in texts:
        return True
    starts = (match.end() for match in re.finditer(r"[.-]", key))
    ends = ((at, _spelled(key[at:], texts) or key[at - 1 :] in texts) for at in starts)
    return any(key[:at] in texts or key[: at - 1] in texts for at, spelled in ends if spelled)


def test_the_search_finds_what_is_not_there() -> None:
    assert _spelled("a.b.c", {"a.b.c"})
    assert _spelled("a.b.c", {"a.b.", "c"})
    assert _spelled("a.b.c", {"a", "b.c"})
    assert _spelled("a.b.c", {"a.b", ".c"})
    assert not _spelled("a.b.c", {"a.b", "d"})
    assert not _spelled("a.b.c", {"b.c"})


def test_every_own_option_is_a_fact() -> None:
    """An option's type and default are declared once: the list of keys has them from there."""
    declared = [option for option in vars(own_options).values() if isinstance(option, ConfigOption)]
    assert len(declared) > 20
    for option in declared:
        fact = options()[option.key].fact
        assert fact.default == own_options.default_text(option)
        assert option.default is None or option.convert(fact.default) == option.default, option.key


def test_no_module_declares_an_own_option_again() -> None:
    own = {option.key for option in vars(own_options).values() if isinstance(option, ConfigOption)}
    source = Path(own_options.__file__).parents[1]
    again = [
        f"{file.relative_to(source)}: {key}"
        for file in source.rglob("*.py")
        if file.name != "own_options.py"
        for key in re.findall(r'ConfigOptions\.key\("([^"]+)"\)', file.read_text("utf-8"))
        if key in own
    ]
    assert again == []


def test_parts_of_ones_own() -> None:
    option = find("metrics.reporter.my.prom.interval")
    assert option is not None
    assert (option.key, option.fact.type) == ("metrics.reporter.<name>.interval", "duration")
    anything = find("metrics.reporter.prom.port")
    assert anything is not None
    assert anything.key == "metrics.reporter.<name>.<parameter>"
    assert find("metrics.reporterx.a") is None


def test_older_names_lead_to_new_ones() -> None:
    new = with_new_names({"state.backend": "rocksdb", "restart-strategy": "none", "akka.ask.timeout": "1 s", "my": "1"})
    assert new["state.backend.type"] == "rocksdb"
    assert new["restart-strategy.type"] == "none"
    assert new["pekko.ask.timeout"] == "1 s"
    assert new["my"] == "1"


def test_the_new_name_counts_more_and_the_newer_of_older_ones() -> None:
    old = {"state.storage.fs.memory-threshold": "1 kb", "state.backend.fs.memory-threshold": "2 kb"}
    assert with_new_names(old)["execution.checkpointing.data-inline-threshold"] == "1 kb"
    both = {"state.checkpoints.dir": "old", "execution.checkpointing.dir": "new"}
    assert with_new_names(both) == both


def test_one_older_name_may_have_become_two_keys() -> None:
    new = with_new_names({"state.backend.local-recovery": "true"})
    assert new["execution.checkpointing.local-backup.enabled"] == "true"
    assert new["execution.state-recovery.from-local"] == "true"


@pytest.mark.parametrize(
    ("key", "same", "other"),
    [
        ("heartbeat.timeout", "50000 ms", "1 min"),  # Flink's default, written otherwise
        ("execution.checkpointing.unaligned.enabled", "False", "true"),
        ("execution.checkpointing.incremental", "true", "false"),  # not Flink's default, but what happens
        ("execution.checkpointing.aligned-checkpoint-timeout", "0 s", "30 s"),
        ("high-availability.type", "none", "zookeeper"),
        ("taskmanager.memory.segment-size", "32768", "64 kb"),
    ],
)
def test_values_that_say_what_happens_anyway(key: str, same: str, other: str) -> None:
    option = options()[key]
    assert option.is_as_here(same)
    assert not option.is_as_here(other)
