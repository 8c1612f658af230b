import java.time.Duration;
import org.apache.flink.cep.nfa.aftermatch.AfterMatchSkipStrategy;
import org.apache.flink.cep.pattern.Pattern;
import org.apache.flink.cep.pattern.WithinType;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.JsonNode;

/** Patterns from the calls of a case, made in their order. */
@SuppressWarnings({"unchecked", "rawtypes"})
final class Patterns {
    private Patterns() {}

    static Pattern<Event, ?> build(JsonNode calls, AfterMatchSkipStrategy skip) {
        Pattern pattern = null;
        for (JsonNode call : calls) {
            pattern = apply(pattern, call, skip);
        }
        return pattern;
    }

    static AfterMatchSkipStrategy skip(JsonNode given) {
        if (given.isNull() || given.isMissingNode()) {
            return AfterMatchSkipStrategy.noSkip();
        }
        String to = given.path(1).asText();
        switch (given.get(0).asText()) {
            case "noSkip":
                return AfterMatchSkipStrategy.noSkip();
            case "skipToNext":
                return AfterMatchSkipStrategy.skipToNext();
            case "skipPastLastEvent":
                return AfterMatchSkipStrategy.skipPastLastEvent();
            case "skipToFirst":
                var first = AfterMatchSkipStrategy.skipToFirst(to);
                return given.path(2).asBoolean() ? first.throwExceptionOnMiss() : first;
            case "skipToLast":
                var last = AfterMatchSkipStrategy.skipToLast(to);
                return given.path(2).asBoolean() ? last.throwExceptionOnMiss() : last;
            default:
                throw new IllegalArgumentException("no such strategy: " + given);
        }
    }

    private static Pattern apply(Pattern pattern, JsonNode call, AfterMatchSkipStrategy skip) {
        String method = call.get(0).asText();
        JsonNode first = call.path(1);
        JsonNode last = call.get(call.size() - 1);
        Duration window = last.isObject() ? Duration.ofMillis(last.get("ms").asLong()) : null;
        switch (method) {
            case "begin":
                return first.isArray() ? Pattern.begin((Pattern) build(first, null), skip) : begin(first.asText(), skip);
            case "next":
                return first.isArray() ? pattern.next((Pattern) build(first, null)) : pattern.next(first.asText());
            case "followedBy":
                return first.isArray() ? pattern.followedBy((Pattern) build(first, null)) : pattern.followedBy(first.asText());
            case "followedByAny":
                return first.isArray()
                        ? pattern.followedByAny((Pattern) build(first, null))
                        : pattern.followedByAny(first.asText());
            case "notNext":
                return pattern.notNext(first.asText());
            case "notFollowedBy":
                return pattern.notFollowedBy(first.asText());
            case "where":
                return pattern.where(new Conditions.Condition(first));
            case "or":
                return pattern.or(new Conditions.Condition(first));
            case "until":
                return pattern.until(new Conditions.Condition(first));
            case "subtype":
                return pattern.subtype(Event.Big.class);
            case "optional":
                return pattern.optional();
            case "greedy":
                return pattern.greedy();
            case "consecutive":
                return pattern.consecutive();
            case "allowCombinations":
                return pattern.allowCombinations();
            case "oneOrMore":
                return window == null ? pattern.oneOrMore() : pattern.oneOrMore(window);
            case "timesOrMore":
                return window == null ? pattern.timesOrMore(first.asInt()) : pattern.timesOrMore(first.asInt(), window);
            case "times":
                return times(pattern, call, window);
            case "within":
                Duration whole = Duration.ofMillis(first.asLong());
                return call.size() == 2 ? pattern.within(whole) : pattern.within(whole, WithinType.valueOf(last.asText()));
            default:
                throw new IllegalArgumentException("no such method: " + method);
        }
    }

    private static Pattern begin(String name, AfterMatchSkipStrategy skip) {
        return skip == null ? Pattern.begin(name) : Pattern.begin(name, skip);
    }

    private static Pattern times(Pattern pattern, JsonNode call, Duration window) {
        int from = call.get(1).asInt();
        if (call.size() - (window == null ? 0 : 1) == 2) {
            return window == null ? pattern.times(from) : pattern.times(from, window);
        }
        int to = call.get(2).asInt();
        return window == null ? pattern.times(from, to) : pattern.times(from, to, window);
    }
}
