import java.lang.management.ManagementFactory;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.apache.flink.api.common.JobExecutionResult;
import org.apache.flink.api.common.accumulators.LongCounter;
import org.apache.flink.api.common.eventtime.WatermarkStrategy;
import org.apache.flink.api.common.functions.OpenContext;
import org.apache.flink.api.common.functions.RichFilterFunction;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.cep.CEP;
import org.apache.flink.cep.functions.PatternProcessFunction;
import org.apache.flink.cep.nfa.aftermatch.AfterMatchSkipStrategy;
import org.apache.flink.cep.pattern.Pattern;
import org.apache.flink.cep.pattern.conditions.SimpleCondition;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.streaming.api.functions.sink.v2.DiscardingSink;
import org.apache.flink.util.Collector;

/** The jobs of benchmarks.cep on Flink: `java Jobs JOB EVENTS`, prints the matches and the processor time. */
public final class Jobs {
    private Jobs() {}

    public static class Event {
        public long key;
        public String name;
        public long price;
        public long ts;
    }

    static Event event(long i, boolean logins) {
        long h = i * 2654435761L & 0xFFFFFFFFL;
        Event made = new Event();
        made.key = (h >> 8) % 1000;
        made.name = logins ? ((h >> 20) % 10 < 6 ? "fail" : "ok") : "abcdef".substring((int) ((h >> 20) % 6)).substring(0, 1);
        made.price = (h >> 12) % 100;
        made.ts = 2 * i + 1;
        return made;
    }

    private static SimpleCondition<Event> named(String name) {
        return SimpleCondition.of(event -> event.name.equals(name));
    }

    static Pattern<Event, ?> pattern(String job) {
        Duration window = Duration.ofSeconds(10);
        if (job.equals("greedy")) {
            return Pattern.<Event>begin("a")
                    .where(SimpleCondition.of(event -> event.name.equals("a") && event.price > 50))
                    .followedBy("b")
                    .where(named("b"))
                    .times(1, 5)
                    .greedy()
                    .followedBy("c")
                    .where(named("c"))
                    .within(window);
        }
        AfterMatchSkipStrategy skip =
                job.equals("fails-past") ? AfterMatchSkipStrategy.skipPastLastEvent() : AfterMatchSkipStrategy.noSkip();
        return Pattern.<Event>begin("fail", skip).where(named("fail")).times(3).consecutive().within(window);
    }

    public static void main(String[] arguments) throws Exception {
        String job = arguments[0];
        long events = Long.parseLong(arguments[1]);
        boolean logins = job.startsWith("fails");
        StreamExecutionEnvironment env = StreamExecutionEnvironment.getExecutionEnvironment();
        env.setParallelism(2);
        // One of no events has one that is dropped: a sequence cannot be empty.
        var stream =
                env.fromSequence(0, Math.max(events - 1, 0))
                        .setParallelism(1)
                        .filter(i -> i < events)
                        .setParallelism(1)
                        .map(i -> event(i, logins))
                        .returns(Event.class)
                        .setParallelism(1)
                        .assignTimestampsAndWatermarks(
                                WatermarkStrategy.<Event>forBoundedOutOfOrderness(Duration.ofSeconds(1))
                                        .withTimestampAssigner((event, before) -> event.ts))
                        .setParallelism(1)
                        .keyBy(event -> event.key);
        CEP.pattern(stream, pattern(job))
                .process(new First(), Types.LONG)
                .filter(new Counted())
                .sinkTo(new DiscardingSink<>());
        JobExecutionResult done = env.execute(job);
        Long matches = done.getAccumulatorResult("matches");
        var process = (com.sun.management.OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();
        System.out.println("matches " + matches);
        System.out.println("processor " + process.getProcessCpuTime() / 1e9);
    }

    private static final class First extends PatternProcessFunction<Event, Long> {
        @Override
        public void processMatch(Map<String, List<Event>> match, Context context, Collector<Long> out) {
            out.collect(match.values().iterator().next().get(0).ts);
        }
    }

    private static final class Counted extends RichFilterFunction<Long> {
        private final LongCounter matches = new LongCounter();

        @Override
        public void open(OpenContext context) {
            getRuntimeContext().addAccumulator("matches", matches);
        }

        @Override
        public boolean filter(Long value) {
            matches.add(1);
            return true;
        }
    }
}
