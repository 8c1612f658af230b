package suites;

import static net.bytebuddy.matcher.ElementMatchers.hasSuperType;
import static net.bytebuddy.matcher.ElementMatchers.isAnnotatedWith;
import static net.bytebuddy.matcher.ElementMatchers.isStatic;
import static net.bytebuddy.matcher.ElementMatchers.nameStartsWith;
import static net.bytebuddy.matcher.ElementMatchers.named;
import static net.bytebuddy.matcher.ElementMatchers.takesArguments;

import java.util.List;
import net.bytebuddy.agent.ByteBuddyAgent;
import net.bytebuddy.agent.builder.AgentBuilder;
import net.bytebuddy.asm.Advice;
import net.bytebuddy.description.method.MethodDescription;
import net.bytebuddy.implementation.bytecode.assign.Assigner;
import net.bytebuddy.matcher.ElementMatcher;
import org.apache.flink.table.api.Table;
import org.apache.flink.table.api.internal.TableEnvironmentInternal;

/** Lets {@link Queries} see what tests ask a table environment, by code that is put into Flink's classes. */
public final class Watching {
    private static final String ENVIRONMENT = "org.apache.flink.table.api.internal.TableEnvironmentImpl";
    private static final String STREAMS = "org.apache.flink.table.api.bridge.internal.AbstractStreamTableEnvironmentImpl";
    private static final String FAILING = "org.apache.flink.table.planner.runtime.utils.FailingCollectionSource";
    private static final String PARAMETERS = "org.apache.flink.testutils.junit.extensions.parameterized.Parameters";

    private Watching() {}

    static void install() {
        ByteBuddyAgent.install();
        AgentBuilder agent = new AgentBuilder.Default()
                .disableClassFormatChanges()
                .with(AgentBuilder.RedefinitionStrategy.RETRANSFORMATION)
                .with(AgentBuilder.Listener.StreamWriting.toSystemError().withErrorsOnly());
        agent = put(agent, named(ENVIRONMENT), Asked.class, named("sqlQuery"));
        agent = put(agent, named(ENVIRONMENT), Stated.class, named("executeSql"));
        agent = put(agent, named(ENVIRONMENT), Run.class, named("executeInternal").and(takesArguments(1)));
        agent = put(agent, named(STREAMS), Streamed.class, named("toStreamInternal").and(takesArguments(2)));
        agent = put(agent, nameStartsWith("org.apache.flink.table.api.bridge.").and(hasSuperType(named(STREAMS))),
                Named.class, named("fromDataStream").or(named("fromChangelogStream")));
        agent = put(agent, named(FAILING), NotFailing.class, named("reset"));
        agent = put(agent, named("org.apache.flink.streaming.api.environment.StreamExecutionEnvironment"),
                Alone.class, named("setParallelism"));
        agent = put(agent, nameStartsWith("org.apache.flink.table.planner.runtime."), First.class,
                isStatic().and(isAnnotatedWith(named(PARAMETERS))));
        agent.installOnByteBuddyAgent();
    }

    private static AgentBuilder put(
            AgentBuilder agent,
            ElementMatcher<? super net.bytebuddy.description.type.TypeDescription> type,
            Class<?> advice,
            ElementMatcher<? super MethodDescription> method) {
        return agent.type(type).transform(
                (builder, description, loader, module, domain) -> builder.visit(Advice.to(advice).on(method)));
    }

    public static class Asked {
        @Advice.OnMethodExit(onThrowable = Throwable.class)
        public static void exit(
                @Advice.This TableEnvironmentInternal tables,
                @Advice.Argument(0) String sql,
                @Advice.Return Table table,
                @Advice.Thrown Throwable error) {
            Queries.asked(tables, sql, table, error);
        }
    }

    public static class Stated {
        @Advice.OnMethodEnter
        public static void enter(@Advice.This TableEnvironmentInternal tables, @Advice.Argument(0) String sql) {
            Queries.stated(tables, sql);
        }

        @Advice.OnMethodExit(onThrowable = Throwable.class)
        public static void exit(@Advice.This TableEnvironmentInternal tables, @Advice.Thrown Throwable error) {
            Queries.ended(tables, error);
        }
    }

    public static class Run {
        @Advice.OnMethodEnter
        public static void enter(@Advice.This TableEnvironmentInternal tables, @Advice.Argument(0) Object operation) {
            Queries.run(tables, operation);
        }
    }

    public static class Streamed {
        @Advice.OnMethodEnter
        public static void enter(@Advice.This TableEnvironmentInternal tables, @Advice.Argument(0) Table table) {
            Queries.run(tables, table.getQueryOperation());
        }
    }

    public static class Named {
        @Advice.OnMethodEnter
        public static void enter() {
            Queries.depth++;
        }

        @Advice.OnMethodExit(onThrowable = Throwable.class)
        public static void exit(
                @Advice.This TableEnvironmentInternal tables, @Advice.Return(readOnly = false) Table table) {
            Queries.depth--;
            table = Queries.named(tables, table);
        }
    }

    public static class NotFailing {
        @Advice.OnMethodExit
        public static void exit() {
            Queries.calm();
        }
    }

    public static class Alone {
        @Advice.OnMethodEnter
        public static void enter(@Advice.Argument(value = 0, readOnly = false) int parallelism) {
            parallelism = 1;
        }
    }

    /** Of the ways in which a test runs, the first one: they give the same. */
    public static class First {
        @Advice.OnMethodExit
        public static void exit(
                @Advice.Return(readOnly = false, typing = Assigner.Typing.DYNAMIC) Object found) {
            if (found instanceof Iterable) {
                found = List.of(((Iterable<?>) found).iterator().next());
            }
        }
    }
}
