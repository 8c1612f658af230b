import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;
import org.apache.flink.api.common.serialization.SerializerConfigImpl;
import org.apache.flink.api.common.typeinfo.TypeInformation;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.cep.EventComparator;
import org.apache.flink.cep.functions.PatternProcessFunction;
import org.apache.flink.cep.functions.TimedOutPartialMatchHandler;
import org.apache.flink.cep.nfa.aftermatch.AfterMatchSkipStrategy;
import org.apache.flink.cep.nfa.compiler.NFACompiler;
import org.apache.flink.cep.operator.CepOperator;
import org.apache.flink.cep.pattern.Pattern;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.JsonNode;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.ObjectMapper;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.node.ArrayNode;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.node.ObjectNode;
import org.apache.flink.streaming.runtime.streamrecord.StreamRecord;
import org.apache.flink.streaming.util.KeyedOneInputStreamOperatorTestHarness;
import org.apache.flink.util.Collector;
import org.apache.flink.util.OutputTag;

/** Reads cases as lines of JSON, runs each in Flink's CEP operator, and writes the case with Flink's answer. */
public final class Cases {
    static final ObjectMapper JSON = new ObjectMapper();
    private static final OutputTag<Event> LATE = new OutputTag<>("late", TypeInformation.of(Event.class));
    /** Processing time after the last event: an hour later whatever waits has timed out. */
    private static final long REST = 3_600_000;

    /** Some patterns need more steps than there are; a case with more calls of conditions is given up. */
    private static final int CALLS = 10_000;

    private static int calls;
    private static ArrayNode matches;
    private static ArrayNode timeouts;

    private Cases() {}

    public static void main(String[] arguments) throws Exception {
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        PrintStream out = new PrintStream(System.out, false, StandardCharsets.UTF_8);
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            ObjectNode found = (ObjectNode) JSON.readTree(line);
            found.set("answer", answer(found));
            out.println(JSON.writeValueAsString(found));
        }
        out.flush();
    }

    private static ObjectNode answer(ObjectNode given) {
        calls = 0;
        matches = JSON.createArrayNode();
        timeouts = JSON.createArrayNode();
        NFACompiler.NFAFactory<Event> factory;
        AfterMatchSkipStrategy skip;
        try {
            Pattern<Event, ?> pattern = Patterns.build(given.get("pattern"), Patterns.skip(given.path("skip")));
            skip = pattern.getAfterMatchSkipStrategy();
            factory = NFACompiler.compileFactory(pattern, true);
        } catch (Exception error) {
            return failure("build", error);
        }
        ObjectNode answer = JSON.createObjectNode();
        try {
            answer.set("late", run(given, factory, skip));
        } catch (Exception error) {
            return failure("run", error);
        }
        answer.set("matches", matches);
        answer.set("timeouts", timeouts);
        return answer;
    }

    static void count() {
        if (++calls > CALLS) {
            throw new IllegalStateException("the case is too large");
        }
    }

    private static ObjectNode failure(String when, Throwable error) {
        Throwable cause = error;
        while (cause.getCause() != null) {
            cause = cause.getCause();
        }
        String text = cause.getClass().getSimpleName() + ": " + cause.getMessage();
        return JSON.createObjectNode().put("refused", when).put("text", text);
    }

    private static ArrayNode run(ObjectNode given, NFACompiler.NFAFactory<Event> factory, AfterMatchSkipStrategy skip)
            throws Exception {
        boolean processing = given.path("time").asText("event").equals("processing");
        boolean keyed = given.path("keyed").asBoolean();
        EventComparator<Event> comparator =
                given.path("comparator").isTextual() ? (left, right) -> Long.compare(left.price, right.price) : null;
        CepOperator<Event, String, String> operator =
                new CepOperator<>(
                        TypeInformation.of(Event.class).createSerializer(new SerializerConfigImpl()),
                        processing,
                        factory,
                        comparator,
                        skip,
                        new Told(),
                        LATE);
        KeyedOneInputStreamOperatorTestHarness<String, Event, String> harness =
                new KeyedOneInputStreamOperatorTestHarness<>(operator, event -> keyed ? event.key : "", Types.STRING);
        try (harness) {
            harness.open();
            feed(harness, given, processing);
            ArrayNode late = JSON.createArrayNode();
            var side = harness.getSideOutput(LATE);
            if (side != null) {
                side.forEach(record -> late.add(record.getValue().index));
            }
            return late;
        }
    }

    private static void feed(
            KeyedOneInputStreamOperatorTestHarness<String, Event, String> harness, ObjectNode given, boolean processing)
            throws Exception {
        JsonNode events = given.get("events");
        JsonNode delay = given.path("delay");
        long highest = Long.MIN_VALUE;
        for (int at = 0; at < events.size(); at++) {
            JsonNode row = events.get(at);
            long ts = row.get(3).asLong();
            Event event = Event.of(at, row.get(0).asText(), row.get(1).asText(), row.get(2).asLong(), ts);
            if (processing) {
                harness.setProcessingTime(ts);
                harness.processElement(new StreamRecord<>(event));
                continue;
            }
            harness.processElement(new StreamRecord<>(event, ts));
            highest = Math.max(highest, ts);
            if (delay.isNumber()) {
                harness.processWatermark(highest - delay.asLong() - 1);
            }
        }
        if (processing) {
            harness.setProcessingTime(events.get(events.size() - 1).get(3).asLong() + REST);
        } else {
            harness.processWatermark(Long.MAX_VALUE);
        }
    }

    private static ArrayNode told(Map<String, List<Event>> match, long timestamp) {
        ObjectNode events = JSON.createObjectNode();
        match.forEach((name, found) -> found.forEach(event -> events.withArray("/" + name).add(event.index)));
        return JSON.createArrayNode().add(events).add(timestamp);
    }

    /** Writes down what it is told. */
    private static final class Told extends PatternProcessFunction<Event, String>
            implements TimedOutPartialMatchHandler<Event> {
        @Override
        public void processMatch(Map<String, List<Event>> match, Context context, Collector<String> out) {
            matches.add(told(match, context.timestamp()));
        }

        @Override
        public void processTimedOutMatch(Map<String, List<Event>> match, Context context) {
            timeouts.add(told(match, context.timestamp()));
        }
    }
}
