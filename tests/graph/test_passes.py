"""The passes, one after the other: what each adds to a graph."""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import Any

import pytest
from tests.graph.notation import chains, exchanges, names, read, stages

from millrace.common.typeinfo import Types
from millrace.graph.lowering import (
    assign_parallelism,
    assign_uids,
    chain_operators,
    check_types,
    choose_exchanges,
    run_passes,
)
from millrace.graph.program import Chaining, Graph, GraphError, slot_groups
from millrace.runtime.exchange.partitioners import Hash


def test_passes_leave_their_input_alone() -> None:
    graph = read("a: source\nb: map <- a hash")
    before = repr(graph)
    run_passes(graph)
    assert repr(graph) == before


class TestAssignParallelism:
    @staticmethod
    def parallelism(text: str, **settings: Any) -> dict[str, tuple[int | None, int | None]]:
        graph = assign_parallelism(read(text, **settings))
        return {names(graph)[n.id]: (n.parallelism, n.max_parallelism) for n in graph.nodes}

    def test_a_node_without_its_own_gets_that_of_the_environment(self) -> None:
        assert self.parallelism("a: source\nb: map p=5 <- a") == {"a": (2, 128), "b": (5, 128)}

    def test_a_node_that_is_not_parallel_has_one_subtask(self) -> None:
        assert self.parallelism("a: source once p=4") == {"a": (1, 128)}

    def test_maximum_own_then_environment_then_from_the_parallelism(self) -> None:
        text = "a: source max=7\nb: map <- a\nc: map p=100 <- b"
        assert self.parallelism(text, max_parallelism=300) == {"a": (2, 7), "b": (2, 300), "c": (100, 300)}
        assert self.parallelism("a: source p=100") == {"a": (100, 256)}

    def test_parallelism_above_the_maximum_is_an_error(self) -> None:
        with pytest.raises(GraphError) as error:
            assign_parallelism(read("a: source p=9 max=8"))
        assert str(error.value) == (
            "operator 'Source: a' at job.py:1: parallelism 9 is above its maximum parallelism 8; "
            "raise it with set_max_parallelism() (up to 32768)"
        )


def uids(graph: Graph) -> dict[str, str]:
    done = assign_uids(graph)
    return {names(done)[node.id]: node.uid or "" for node in done.nodes}


DIAMOND = ["a: source", "b: map <- a", "c: filter <- a", "d: map <- b, c", "e: print <- d"]


class TestAssignUids:
    def test_derived_uids_are_32_hexadecimal_digits_and_differ(self) -> None:
        found = list(uids(read("\n".join(DIAMOND))).values())
        assert len(set(found)) == len(found)
        assert all(len(uid) == 32 and set(uid) <= set("0123456789abcdef") for uid in found)

    def test_they_are_the_same_in_every_process_and_release(self) -> None:
        assert uids(read("a: source\nb: map <- a")) == {
            "a": "81dfe2b3eaefd5df1bce2aaf2f1fac9b",
            "b": "46d01071356840227870c52298717259",
        }

    def test_unrelated_operators_change_nothing(self) -> None:
        before = uids(read("\n".join(DIAMOND)))
        others = ["x: source", "y: map <- x", "z: filter <- a"]
        lines = [others[0], DIAMOND[0], others[2], DIAMOND[1], others[1], *DIAMOND[2:]]
        after = uids(read("\n".join(lines)))
        assert {name: after[name] for name in before} == before

    def test_the_order_of_creation_changes_nothing(self) -> None:
        before = uids(read("\n".join(DIAMOND)))
        for lines in itertools.permutations(DIAMOND):
            order = {line[0]: lines.index(line) for line in lines}
            if order["a"] < min(order["b"], order["c"]) and max(order["b"], order["c"]) < order["d"] < order["e"]:
                assert uids(read("\n".join(lines))) == before

    def test_parallelism_and_partitioning_change_nothing(self) -> None:
        text = "a: source\nb: map <- a\nc: map <- b"
        assert uids(read(text)) == uids(read("a: source p=3\nb: map p=4 chain=NEVER <- a rescale\nc: map <- b hash"))

    def test_what_stands_above_changes_them(self) -> None:
        plain = uids(read("a: source\nb: map <- a\nc: map <- b"))
        inserted = uids(read("a: source\nb: map <- a\nn: map <- b\nc: map <- n"))
        assert plain["b"] == inserted["b"]
        assert plain["c"] != inserted["c"]

    def test_input_number_and_side_output_tell_nodes_apart(self) -> None:
        def uid(edges: str) -> str:
            return uids(read(f"a: source\nb: map <- a\nc: co <- {edges}"))["c"]

        assert len({uid("a, b #1"), uid("b, a #1"), uid("a @late, b #1"), uid("a, a #1")}) == 4

    def test_twins_are_told_apart_by_their_order(self) -> None:
        graph = read("a: source\nb: map <- a\nx: map <- a")
        twins = replace(graph, nodes=tuple(replace(node, name="same") for node in graph.nodes))
        found = [node.uid for node in assign_uids(twins).nodes]
        assert len(set(found)) == 3
        first = [node.uid for node in assign_uids(replace(twins, nodes=twins.nodes[:2])).nodes]
        assert found[:2] == first

    def test_own_uids_win_over_hashes_over_derived_ones(self) -> None:
        text = "a: source uid=mine uid_hash=00112233445566778899aabbccddeeff\nb: map uid_hash=ff <- a"
        assert uids(read(text)) == {"a": "mine", "b": "ff"}

    def test_own_uids_keep_twins_apart(self) -> None:
        graph = read("a: source\nb: map uid=left <- a\nc: map uid=right <- a\nd: filter <- b\ne: filter <- c")
        twins = replace(graph, nodes=tuple(replace(n, name=n.name.translate({ord("e"): "d"})) for n in graph.nodes))
        swapped = replace(twins, nodes=(*twins.nodes[:3], twins.nodes[4], twins.nodes[3]))
        assert {n.id: n.uid for n in assign_uids(twins).nodes} == {n.id: n.uid for n in assign_uids(swapped).nodes}

    @pytest.mark.parametrize("kind", ["uid", "uid_hash"])
    def test_two_operators_with_one_uid(self, kind: str) -> None:
        with pytest.raises(GraphError) as error:
            assign_uids(read(f"a: source {kind}=x\nb: map <- a\nc: map {kind}=x <- b"))
        assert str(error.value) == (
            "operator 'c' at job.py:3 has the uid 'x', which operator 'Source: a' at job.py:1 has already; "
            "a uid must be unique in a job"
        )

    def test_derived_uids_can_be_switched_off(self) -> None:
        with pytest.raises(GraphError) as error:
            assign_uids(read("a: source uid=a\nb: map <- a", auto_uids=False))
        text = "operator 'b' at job.py:2 has no uid, and derived uids are disabled; call uid() on it"
        assert str(error.value) == text
        assert uids(read("a: source uid=a\nb: map uid_hash=ff <- a", auto_uids=False)) == {"a": "a", "b": "ff"}


class TestCheckTypes:
    def test_side_outputs_that_are_read_keep_their_types(self) -> None:
        graph = read("a: source\nb: process <- a\nc: map <- b @late\nd: map <- b @other")
        node = replace(graph.node(2), side_types={"late": Types.INT(), "unread": Types.STRING()})
        checked = check_types(replace(graph, nodes=(graph.nodes[0], node, *graph.nodes[2:])))
        assert checked.node(2).side_types == {"late": Types.INT(), "other": None}


class TestChooseExchanges:
    @staticmethod
    def chosen(text: str, **settings: Any) -> list[str]:
        return exchanges(choose_exchanges(assign_parallelism(read(text, **settings))))

    def test_undecided_edges_forward_between_equal_parallelism_else_rebalance(self) -> None:
        text = "a: source once\nb: map <- a\nc: map <- b\nd: print p=1 <- c"
        assert self.chosen(text) == ["a -REBALANCE-> b", "b -FORWARD-> c", "c -REBALANCE-> d"]

    @pytest.mark.parametrize("kind", ["rebalance", "rescale", "shuffle", "broadcast", "global", "hash", "custom"])
    def test_the_users_choice_stays(self, kind: str) -> None:
        assert self.chosen(f"a: source\nb: map <- a {kind}") == [f"a -{kind.upper()}-> b"]

    def test_keys_learn_the_key_groups_of_their_reader(self) -> None:
        graph = choose_exchanges(assign_parallelism(read("a: source\nb: map max=7 <- a hash\nc: map <- a hash")))
        found = [edge.partitioner for node in graph.nodes for edge in node.edges]
        assert [isinstance(p, Hash) and p.max_parallelism for p in found] == [7, 128]

    def test_forward_needs_equal_parallelism(self) -> None:
        assert self.chosen("a: source\nb: map <- a forward") == ["a -FORWARD-> b"]
        with pytest.raises(GraphError) as error:
            self.chosen("a: source p=3\nb: map <- a forward")
        assert str(error.value) == (
            "operator 'b' at job.py:2 has parallelism 2, but forward() leads to it from operator 'Source: a' at "
            "job.py:1 with parallelism 3: forward() needs equal parallelism; use rebalance() or rescale()"
        )


def chained(text: str, **settings: Any) -> str:
    return chains(chain_operators(choose_exchanges(assign_parallelism(read(text, **settings)))))


class TestChainOperators:
    def test_forward_edges_chain(self) -> None:
        assert chained("a: source\nb: map <- a\nc: filter <- b\nd: print <- c\ne: print <- b") == "a b c d e"

    def test_1_a_node_with_several_inputs_begins_a_chain(self) -> None:
        assert chained("a: source\nb: source\nc: map <- a, b\nd: map <- c") == "a | b | c d"
        assert chained("a: source\nb: source\nc: co <- a, b #1") == "a | b | c"
        assert chained("a: source\nb: map <- a, a") == "a | b"

    def test_2_slot_sharing_groups_must_agree(self) -> None:
        assert chained("a: source\nb: map slot=g <- a\nc: map <- b\nd: map slot=default <- c") == "a | b c | d"

    @pytest.mark.parametrize(
        ("strategy", "expected"), [("ALWAYS", "a b c"), ("HEAD", "a | b c"), ("NEVER", "a | b | c")]
    )
    def test_3_the_chaining_strategies_must_allow_it(self, strategy: str, expected: str) -> None:
        assert chained(f"a: source\nb: map chain={strategy} <- a\nc: map <- b") == expected

    @pytest.mark.parametrize("kind", ["rebalance", "rescale", "shuffle", "broadcast", "global", "hash", "custom"])
    def test_4_only_forward_edges_chain(self, kind: str) -> None:
        assert chained(f"a: source p=1\nb: map p=1 <- a {kind}") == "a | b"
        assert chained("a: source\nb: map <- a forward") == "a b"

    def test_5_the_parallelism_must_be_equal(self) -> None:
        assert chained("a: source\nb: map p=3 <- a\nc: map p=3 <- b") == "a | b c"

    def test_5_the_maximum_parallelism_too_where_the_environment_says_so(self) -> None:
        text = "a: source\nb: map max=7 <- a\nc: map <- b"
        assert chained(text) == "a b c"
        assert chained(text, chain_different_max_parallelism=False) == "a | b | c"

    def test_6_chaining_must_be_enabled(self) -> None:
        assert chained("a: source\nb: map <- a\nc: map <- b", chaining=False) == "a | b | c"

    def test_side_outputs_chain(self) -> None:
        assert chained("a: source\nb: process <- a\nc: map <- b @late\nd: map <- b") == "a b c d"

    def test_a_broken_chain_goes_on_behind(self) -> None:
        text = "a: source\nb: map <- a\nc: map chain=HEAD <- b\nd: map <- b\ne: map <- c"
        assert chained(text) == "a b d | c e"

    @pytest.mark.parametrize(
        ("text", "expected"),
        [
            ("a: source\nb: map <- a", "default default"),
            ("a: source slot=g\nb: map <- a\nc: map <- b", "g g g"),
            ("a: source slot=g\nb: source slot=g\nc: map <- a, b", "g g g"),
            ("a: source slot=g\nb: source slot=h\nc: map <- a, b", "g h default"),
            ("a: source slot=g\nb: source\nc: map <- a, b", "g default default"),
            ("a: source slot=g\nb: map slot=h <- a\nc: map <- b\nd: map slot=default <- c", "g h h default"),
        ],
    )
    def test_slot_sharing_groups_are_inherited_from_inputs_that_agree(self, text: str, expected: str) -> None:
        assert " ".join(slot_groups(read(text)).values()) == expected

    def test_the_strategies_are_flinks(self) -> None:
        assert [strategy.value for strategy in Chaining] == ["ALWAYS", "HEAD", "NEVER"]


STAGES = [
    ("one", "a: source\nb: map <- a\nc: print <- b", "a b c"),
    ("exchanges count", "a: source\nb: map <- a hash\nc: map <- b\nd: map <- c rebalance", "a | b c | d"),
    ("different parallelism", "a: source once\nb: map <- a\nc: print p=1 <- b", "a | b | c"),
    (
        "the longest way, whatever the order",
        "a: source\nb: map <- a hash\nc: map <- b hash\nd: map <- a, c\ne: map <- c, a",
        "a | b | c d e",
    ),
    ("unions", "a: source\nb: source p=3\nc: map <- a, b", "a b | c"),
    ("diamonds", "a: source\nb: map <- a hash\nc: map <- a\nd: co <- c, b #1", "a c | b d"),
    ("side outputs", "a: source\nb: process <- a\nc: map <- b @late hash\nd: map <- b", "a b d | c"),
    ("slot sharing groups", "a: source\nb: map slot=g <- a\nc: map <- b\nd: map slot=default <- c", "a | b c | d"),
    ("chains don't matter", "a: source\nb: map chain=NEVER <- a\nc: map chain=HEAD <- b", "a b c"),
    ("several programs", "a: source\nb: map <- a hash\nx: source\ny: map <- x", "a x y | b"),
]


@pytest.mark.parametrize(("text", "expected"), [case[1:] for case in STAGES], ids=[case[0] for case in STAGES])
def test_assign_stages(text: str, expected: str) -> None:
    assert stages(run_passes(read(text))) == expected
