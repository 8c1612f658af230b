package suites;

import java.lang.reflect.Field;
import java.lang.reflect.Modifier;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.flink.table.api.EnvironmentSettings;
import org.apache.flink.table.api.TableEnvironment;
import org.apache.flink.table.api.internal.TableEnvironmentImpl;
import org.apache.flink.table.expressions.DefaultSqlFactory;
import org.apache.flink.table.test.program.ConfigOptionTestStep;
import org.apache.flink.table.test.program.FailingSqlTestStep;
import org.apache.flink.table.test.program.FunctionTestStep;
import org.apache.flink.table.test.program.ModelTestStep;
import org.apache.flink.table.test.program.SinkTestStep;
import org.apache.flink.table.test.program.SourceTestStep;
import org.apache.flink.table.test.program.SqlTestStep;
import org.apache.flink.table.test.program.StatementSetTestStep;
import org.apache.flink.table.test.program.TableApiTestStep;
import org.apache.flink.table.test.program.TableTestProgram;
import org.apache.flink.table.test.program.TableTestStep;
import org.apache.flink.table.test.program.TemporalFunctionTestStep;
import org.apache.flink.table.test.program.TestStep;

/** Programs of tables: sources with rows, statements, and what is in the sinks afterwards. */
final class Programs {
    private Programs() {}

    static List<Object> read(Class<?> holder) throws Throwable {
        List<Object> found = new ArrayList<>();
        for (Field field : holder.getDeclaredFields()) {
            if (Modifier.isStatic(field.getModifiers()) && TableTestProgram.class.isAssignableFrom(field.getType())) {
                found.add(program(holder, (TableTestProgram) Hidden.get(null, field)));
            }
        }
        return found;
    }

    private static Object program(Class<?> holder, TableTestProgram program) {
        Map<String, Object> found = new LinkedHashMap<>();
        found.put("suite", holder.getSimpleName());
        found.put("set", program.id);
        TableEnvironmentImpl tables =
                TableEnvironmentImpl.create(EnvironmentSettings.newInstance().inStreamingMode().build());
        List<Object> setup = new ArrayList<>();
        program.setupSteps.forEach(step -> setup.add(step(step, tables)));
        found.put("setup", setup);
        List<Object> run = new ArrayList<>();
        program.runSteps.forEach(step -> run.add(step(step, tables)));
        found.put("run", run);
        return found;
    }

    private static Object step(TestStep step, TableEnvironmentImpl tables) {
        Map<String, Object> found = new LinkedHashMap<>();
        found.put("step", step.getKind().name());
        try {
            if (step instanceof TableTestStep) {
                table((TableTestStep) step, tables, found);
            } else if (step instanceof SqlTestStep) {
                found.put("sql", ((SqlTestStep) step).sql);
                if (((SqlTestStep) step).sql.trim().toUpperCase().startsWith("CREATE")) {
                    ((SqlTestStep) step).apply(tables);
                }
            } else if (step instanceof FailingSqlTestStep) {
                found.put("sql", ((FailingSqlTestStep) step).sql);
                found.put("error", ((FailingSqlTestStep) step).expectedException.getSimpleName());
                found.put("message", ((FailingSqlTestStep) step).expectedErrorMessage);
            } else if (step instanceof StatementSetTestStep) {
                found.put("statements", ((StatementSetTestStep) step).statements);
            } else if (step instanceof ConfigOptionTestStep) {
                ConfigOptionTestStep<?> option = (ConfigOptionTestStep<?>) step;
                option.apply(tables);
                found.put("key", option.option.key());
                found.put("value", tables.getConfig().getConfiguration().toMap().get(option.option.key()));
            } else if (step instanceof FunctionTestStep) {
                FunctionTestStep function = (FunctionTestStep) step;
                found.put("name", function.name);
                found.put("function", function.function.getName());
                function.apply(tables);
            } else if (step instanceof TemporalFunctionTestStep) {
                TemporalFunctionTestStep function = (TemporalFunctionTestStep) step;
                found.put("name", function.name);
                found.put("table", function.table);
                found.put("time", function.timeAttribute.asSummaryString());
                found.put("key", function.primaryKey.asSummaryString());
                function.apply(tables);
            } else if (step instanceof ModelTestStep) {
                found.put("name", ((ModelTestStep) step).name);
            } else if (step instanceof TableApiTestStep) {
                found.put("sink", Hidden.get(step, "sinkName"));
                found.put("written", ((TableApiTestStep) step).toTable(tables).getQueryOperation()
                        .asSerializableString(DefaultSqlFactory.INSTANCE));
            } else {
                found.put("unread", step.getClass().getSimpleName());
            }
        } catch (Throwable error) {
            found.put("unread", Plain.error(error));
        }
        return found;
    }

    private static void table(TableTestStep step, TableEnvironment tables, Map<String, Object> found) {
        found.put("name", step.name);
        found.put("schema", step.schemaComponents);
        if (!step.partitionKeys.isEmpty()) {
            found.put("partitions", step.partitionKeys);
        }
        if (step.distribution != null) {
            found.put("distribution", step.distribution.toString());
        }
        if (!step.options.isEmpty()) {
            found.put("options", step.options);
        }
        if (step instanceof SourceTestStep) {
            SourceTestStep source = (SourceTestStep) step;
            found.put("rows", Aggregates.rows(source.dataBeforeRestore));
            if (!source.dataAfterRestore.isEmpty()) {
                found.put("after", Aggregates.rows(source.dataAfterRestore));
            }
        } else {
            sink((SinkTestStep) step, found);
        }
        step.apply(tables, Map.of("connector", "values", "sink-insert-only", "false"));
    }

    private static void sink(SinkTestStep sink, Map<String, Object> found) {
        if (sink.expectedBeforeRestore != null) {
            found.put("rows", Aggregates.rows(sink.expectedBeforeRestore));
        }
        if (sink.expectedAfterRestore != null) {
            found.put("after", Aggregates.rows(sink.expectedAfterRestore));
        }
        put(found, "texts", sink.expectedBeforeRestoreStrings);
        put(found, "texts_after", sink.expectedAfterRestoreStrings);
        if (sink.expectedMaterializedRows != null) {
            found.put("materialized", Aggregates.rows(sink.expectedMaterializedRows));
        }
        put(found, "materialized_texts", sink.expectedMaterializedStrings);
        if (!sink.testChangelogData) {
            found.put("table", true);
        }
        if (sink.deduplicatedFieldIndices != null) {
            found.put("deduplicated", sink.deduplicatedFieldIndices);
        }
    }

    private static void put(Map<String, Object> found, String key, List<String> texts) {
        if (texts != null) {
            found.put(key, texts);
        }
    }
}
