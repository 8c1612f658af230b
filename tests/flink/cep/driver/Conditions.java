import java.util.ArrayList;
import java.util.List;
import org.apache.flink.cep.pattern.conditions.IterativeCondition;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.JsonNode;

/** Conditions from the JSON of a case; those over what was matched for a pattern compare the event's price with it. */
final class Conditions {
    private Conditions() {}

    interface Test {
        boolean holds(Event event, IterativeCondition.Context<Event> context) throws Exception;
    }

    /** The JSON travels as text, so that the condition can be serialized. */
    static final class Condition extends IterativeCondition<Event> {
        private final String text;
        private transient Test test;

        Condition(JsonNode node) {
            text = node.toString();
        }

        @Override
        public boolean filter(Event event, Context<Event> context) throws Exception {
            Cases.count();
            if (test == null) {
                test = read(Cases.JSON.readTree(text));
            }
            return test.holds(event, context);
        }
    }

    static Test read(JsonNode node) {
        String kind = node.get(0).asText();
        switch (kind) {
            case "name":
                String name = node.get(1).asText();
                return (event, context) -> event.name.equals(name);
            case "price":
            case "ts":
                String op = node.get(1).asText();
                long bound = node.get(2).asLong();
                return (event, context) -> compare(kind.equals("ts") ? event.ts : event.price, op, bound);
            case "not":
                Test inner = read(node.get(1));
                return (event, context) -> !inner.holds(event, context);
            case "and":
            case "or":
                List<Test> parts = new ArrayList<>();
                for (int at = 1; at < node.size(); at++) {
                    parts.add(read(node.get(at)));
                }
                return kind.equals("and") ? (e, c) -> all(parts, e, c) : (e, c) -> !none(parts, e, c);
            default:
                return overMatched(kind, node.get(1).asText(), node.get(2).asText(), node.path(3).asLong());
        }
    }

    private static boolean all(List<Test> parts, Event event, IterativeCondition.Context<Event> context) throws Exception {
        for (Test part : parts) {
            if (!part.holds(event, context)) {
                return false;
            }
        }
        return true;
    }

    private static boolean none(List<Test> parts, Event event, IterativeCondition.Context<Event> context) throws Exception {
        for (Test part : parts) {
            if (part.holds(event, context)) {
                return false;
            }
        }
        return true;
    }

    /** `last`, `first`, `avg`: true where nothing was matched; `sum` counts the event itself, `count` does not. */
    private static Test overMatched(String kind, String pattern, String op, long bound) {
        return (event, context) -> {
            List<Event> found = new ArrayList<>();
            context.getEventsForPattern(pattern).forEach(found::add);
            long sum = found.stream().mapToLong(each -> each.price).sum();
            switch (kind) {
                case "count":
                    return compare(found.size(), op, bound);
                case "sum":
                    return compare(sum + event.price, op, bound);
                case "first":
                    return found.isEmpty() || compare(event.price, op, found.get(0).price);
                case "last":
                    return found.isEmpty() || compare(event.price, op, found.get(found.size() - 1).price);
                case "avg":
                    return found.isEmpty() || compare(event.price, op, (double) sum / found.size());
                default:
                    throw new IllegalArgumentException("no such condition: " + kind);
            }
        };
    }

    private static boolean compare(double left, String op, double right) {
        switch (op) {
            case "<":
                return left < right;
            case "<=":
                return left <= right;
            case ">":
                return left > right;
            case ">=":
                return left >= right;
            case "==":
                return left == right;
            case "!=":
                return left != right;
            default:
                throw new IllegalArgumentException("no such comparison: " + op);
        }
    }
}
