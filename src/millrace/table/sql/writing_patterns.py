"""MATCH_RECOGNIZE of a tree back to SQL."""

from __future__ import annotations

from sqlglot import exp, generator

from millrace.table.sql.nodes import (
    AfterMatch,
    MatchRecognize,
    PatternAlternation,
    PatternExclusion,
    PatternPermutation,
    PatternQuantifier,
    PatternSequence,
    PatternVariable,
)


class PatternWriter(generator.Generator):
    def matchrecognize_text(self, node: MatchRecognize) -> str:
        anchors = node.args.get("anchors") or ""
        pattern = f"{'^ ' * ('^' in anchors)}{self.sql(node, 'pattern')}{' $' * ('$' in anchors)}"
        clauses = [
            self._listed("PARTITION BY", node, "partition_by"),
            self.sql(node, "order").strip(),
            self._listed("MEASURES", node, "measures"),
            node.args["rows"],
            self.sql(node, "after"),
            f"PATTERN ({pattern})",
            f"WITHIN {self.sql(node, 'within')}" if node.args.get("within") else "",
            self._named("SUBSET", node, "subsets", "{name} = {value}"),
            self._named("DEFINE", node, "define", "{name} AS {value}"),
        ]
        alias = self.sql(node, "alias")
        inside = " ".join(filter(None, clauses))
        return f"{self.sql(node, 'this')} MATCH_RECOGNIZE ({inside}){f' AS {alias}' if alias else ''}"

    def aftermatch_text(self, node: AfterMatch) -> str:
        target = self.sql(node, "target")
        return f"AFTER MATCH SKIP {node.args['mode']}{f' {target}' if target else ''}"

    def patternvariable_text(self, node: PatternVariable) -> str:
        return self.sql(node, "this")

    def patternsequence_text(self, node: PatternSequence) -> str:
        return " ".join(self._grouped(part, PatternSequence, PatternAlternation) for part in node.expressions)

    def patternalternation_text(self, node: PatternAlternation) -> str:
        return " | ".join(self.sql(part) for part in node.expressions)

    def patternpermutation_text(self, node: PatternPermutation) -> str:
        return f"PERMUTE({self.expressions(node, flat=True)})"

    def patternexclusion_text(self, node: PatternExclusion) -> str:
        return f"{{- {self.sql(node, 'this')} -}}"

    def patternquantifier_text(self, node: PatternQuantifier) -> str:
        low, high = node.args["low"], node.args.get("high")
        part = self._grouped(node.this, PatternSequence, PatternAlternation, PatternQuantifier)
        return f"{part}{{{low},{'' if high is None else high}}}{'?' * bool(node.args.get('reluctant'))}"

    def _grouped(self, part: exp.Expr, *kinds: type[exp.Expression]) -> str:
        """A part, in brackets if it is one of these."""
        written = self.sql(part)
        return f"({written})" if isinstance(part, kinds) else written

    def _listed(self, words: str, node: exp.Expr, key: str) -> str:
        items = self.expressions(node, key=key, flat=True)
        return f"{words} {items}" if items else ""

    def _named(self, word: str, node: exp.Expr, key: str, form: str) -> str:
        items = [
            form.format(name=self.sql(item, "alias"), value=self.sql(item, "this")) for item in node.args.get(key) or ()
        ]
        return f"{word} {', '.join(items)}" if items else ""
