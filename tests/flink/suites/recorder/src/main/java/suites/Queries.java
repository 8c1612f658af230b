package suites;

import java.io.PrintStream;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashSet;
import java.util.IdentityHashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.regex.Pattern;
import org.apache.flink.core.execution.JobClient;
import org.apache.flink.streaming.api.functions.ProcessFunction;
import org.apache.flink.table.api.Table;
import org.apache.flink.table.api.TableEnvironment;
import org.apache.flink.table.api.TableResult;
import org.apache.flink.table.api.bridge.java.StreamTableEnvironment;
import org.apache.flink.table.api.internal.TableEnvironmentImpl;
import org.apache.flink.table.api.internal.TableEnvironmentInternal;
import org.apache.flink.table.catalog.CatalogBaseTable;
import org.apache.flink.table.catalog.Column;
import org.apache.flink.table.catalog.ContextResolvedTable;
import org.apache.flink.table.catalog.ObjectIdentifier;
import org.apache.flink.table.catalog.QueryOperationCatalogView;
import org.apache.flink.table.catalog.ResolvedCatalogBaseTable;
import org.apache.flink.table.catalog.ResolvedSchema;
import org.apache.flink.table.expressions.DefaultSqlFactory;
import org.apache.flink.table.operations.ModifyOperation;
import org.apache.flink.table.operations.QueryOperation;
import org.apache.flink.table.operations.SinkModifyOperation;
import org.apache.flink.table.planner.factories.TestValuesTableFactory;
import org.apache.flink.table.planner.runtime.utils.FailingCollectionSource;
import org.apache.flink.table.runtime.typeutils.BigDecimalTypeInfo;
import org.apache.flink.table.types.logical.LegacyTypeInformationType;
import org.apache.flink.table.types.logical.LogicalType;
import org.apache.flink.table.types.logical.LogicalTypeFamily;
import org.apache.flink.table.types.logical.LogicalTypeRoot;
import org.apache.flink.table.types.logical.utils.LogicalTypeChecks;
import org.apache.flink.table.types.logical.utils.LogicalTypeUtils;
import org.apache.flink.types.Row;
import org.apache.flink.util.Collector;
import org.junit.platform.engine.TestExecutionResult;
import org.junit.platform.engine.discovery.DiscoverySelectors;
import org.junit.platform.engine.support.descriptor.MethodSource;
import org.junit.platform.launcher.TestExecutionListener;
import org.junit.platform.launcher.TestIdentifier;
import org.junit.platform.launcher.core.LauncherDiscoveryRequestBuilder;
import org.junit.platform.launcher.core.LauncherFactory;

/** The queries of tests that run: their tables with rows, and the rows that Flink gives. */
public final class Queries {
    /** More rows than these are no case to look at. */
    private static final int MOST = 400;
    private static final int SECONDS = 40;
    private static final String NOT_READ = "what Flink writes of the Table API in SQL is not what it reads";
    private static final Pattern INSERT = Pattern.compile(
            "\\s*INSERT\\s+INTO\\s+[\\w.`]+\\s+(\\(*\\s*(?:SELECT|WITH|VALUES)\\b.*?)(?:\\s+ON\\s+CONFLICT\\s+DO\\s+\\w+)?[\\s;]*",
            Pattern.DOTALL | Pattern.CASE_INSENSITIVE);
    private static final Pattern VIEW = Pattern.compile(
            "\\s*CREATE\\s+(?:TEMPORARY\\s+)?VIEW\\s+`?(\\w+)`?\\s+AS\\s+(.*?);?\\s*", Pattern.DOTALL | Pattern.CASE_INSENSITIVE);
    private static final Pattern RANDOM = Pattern.compile("[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}|(?<=_sink\\$)\\d+(?=\\*)");
    private static final ExecutorService RUNNING = Executors.newCachedThreadPool(work -> {
        Thread thread = new Thread(work);
        thread.setDaemon(true);
        return thread;
    });

    public static int depth;
    private static boolean own;
    private static final Map<Object, String> TEXTS = new IdentityHashMap<>();
    private static final Map<String, String> VIEWS = new TreeMap<>();
    private static Map<String, Object> tables = new LinkedHashMap<>();
    private static List<Object> queries = new ArrayList<>();
    private static String statement;
    private static int streams;
    private static final List<Object[]> SEEN = new ArrayList<>();

    private Queries() {}

    static void read(Class<?> test, PrintStream out) {
        var request = LauncherDiscoveryRequestBuilder.request()
                .selectors(DiscoverySelectors.selectClass(test))
                .configurationParameter("junit.jupiter.execution.timeout.default", "180 s")
                .build();
        LauncherFactory.create().execute(request, new Listener(test, out));
        System.err.println(test.getName());
    }

    private static final class Listener implements TestExecutionListener {
        private final Class<?> test;
        private final PrintStream out;

        private Listener(Class<?> test, PrintStream out) {
            this.test = test;
            this.out = out;
        }

        @Override
        public void executionStarted(TestIdentifier found) {
            if (found.isTest()) {
                TEXTS.clear();
                VIEWS.clear();
                tables = new LinkedHashMap<>();
                queries = new ArrayList<>();
                statement = null;
                streams = 0;
                depth = 0;
                calm();
            }
        }

        @Override
        public void executionFinished(TestIdentifier found, TestExecutionResult result) {
            if (result.getStatus() != TestExecutionResult.Status.SUCCESSFUL) {
                String why = String.valueOf(result.getThrowable().orElse(null));
                System.err.println(test.getSimpleName() + " " + found.getDisplayName() + ": "
                        + why.substring(0, Math.min(why.length(), 300)));
                return;
            }
            if (!found.isTest() || queries.isEmpty()) {
                return;
            }
            String name = found.getSource().filter(MethodSource.class::isInstance)
                    .map(each -> ((MethodSource) each).getMethodName()).orElse(found.getDisplayName());
            String[] parts = test.getName().split("\\.runtime\\.")[1].split("\\.");
            Map<String, Object> line = new LinkedHashMap<>();
            line.put("suite", parts[0] + "/" + parts[1] + "/" + test.getSimpleName());
            line.put("set", name);
            line.put("tables", tables);
            line.put("queries", queries);
            out.println(withoutRandomNames(Plain.json(line)));
        }
    }

    /** Tables without a name have a random one with Flink. */
    private static String withoutRandomNames(String line) {
        Map<String, String> names = new LinkedHashMap<>();
        return RANDOM.matcher(line).replaceAll(
                found -> names.computeIfAbsent(found.group(), each -> "Unnamed" + (names.size() + 1)));
    }

    // -- what the tests do ------------------------------------------------------------------------------------------

    public static void asked(TableEnvironmentInternal environment, String sql, Table table, Throwable error) {
        if (own) {
            return;
        }
        if (table != null) {
            TEXTS.put(table.getQueryOperation(), sql);
            return;
        }
        refused(environment, sql, error);
    }

    public static void stated(TableEnvironmentInternal environment, String sql) {
        if (own) {
            return;
        }
        statement = sql;
        var view = VIEW.matcher(sql);
        if (view.matches()) {
            VIEWS.put(view.group(1), view.group(2));
        }
    }

    public static void ended(TableEnvironmentInternal environment, Throwable error) {
        if (own) {
            return;
        }
        if (error != null && statement != null) {
            refused(environment, statement, error);
        }
        statement = null;
    }

    private static void refused(TableEnvironmentInternal environment, String sql, Throwable error) {
        own = true;
        try {
            Map<String, Object> query = begun((TableEnvironment) environment, sql);
            query.put("fails", "plan");
            query.put("message", message(error));
            queries.add(query);
        } finally {
            own = false;
        }
    }

    public static void run(TableEnvironmentInternal environment, Object operation) {
        if (own) {
            return;
        }
        if (operation instanceof List) {
            for (Object each : (List<?>) operation) {
                if (each instanceof SinkModifyOperation) {
                    record(environment, ((SinkModifyOperation) each).getChild(), inserted());
                }
            }
        } else if (operation instanceof QueryOperation) {
            record(environment, (QueryOperation) operation, statement);
        }
    }

    private static String inserted() {
        if (statement == null) {
            return null;
        }
        var found = INSERT.matcher(statement);
        return found.matches() ? found.group(1) : null;
    }

    /** A table of a stream under a name, so that queries can be written as text. */
    public static Table named(TableEnvironmentInternal environment, Table table) {
        if (own || depth > 0 || table == null) {
            return table;
        }
        own = true;
        try {
            String name = "Stream" + ++streams;
            environment.createTemporaryView(name, table);
            Table found = environment.from(name);
            TEXTS.put(found.getQueryOperation(), "SELECT * FROM " + name);
            return found;
        } finally {
            own = false;
        }
    }

    public static void calm() {
        FailingCollectionSource.failedBefore = true;
    }

    // -- what is written of it --------------------------------------------------------------------------------------

    private static void record(TableEnvironmentInternal environment, QueryOperation operation, String given) {
        own = true;
        String before = statement;
        try {
            String text = given != null ? given : TEXTS.get(operation);
            if (text == null) {
                text = written(operation);
                operation = readBack(environment, text);
                if (operation == null) {
                    queries.add(new LinkedHashMap<>(Map.of("unread", NOT_READ)));
                    return;
                }
            }
            if (!text.trim().toUpperCase().matches("(?s)(SELECT|WITH|VALUES|\\(|TABLE).*")) {
                return;
            }
            Map<String, Object> query = begun((TableEnvironment) environment, text);
            queries.add(query);
            outcome((TableEnvironmentImpl) environment, operation, query);
        } catch (Throwable error) {
            queries.add(new LinkedHashMap<>(Map.of("unread", Plain.error(error))));
        } finally {
            own = false;
            statement = before;
        }
    }

    /** A query of the Table API as Flink writes it in SQL; the names that it makes up are no words of SQL. */
    private static String written(QueryOperation operation) {
        return operation.asSerializableString(DefaultSqlFactory.INSTANCE).replace("$$T", "T");
    }

    /** What a text is for Flink itself; names of fields and what can be NULL may be others than in the Table API. */
    private static QueryOperation readBack(TableEnvironmentInternal environment, String text) {
        try {
            return ((TableEnvironment) environment).sqlQuery(text).getQueryOperation();
        } catch (RuntimeException error) {
            return null;
        }
    }

    private static List<LogicalType> types(QueryOperation operation) {
        List<LogicalType> types = new ArrayList<>();
        operation.getResolvedSchema().getColumnDataTypes().forEach(each -> types.add(plain(each.getLogicalType())));
        return types;
    }

    private static Map<String, Object> begun(TableEnvironment environment, String text) {
        Map<String, Object> query = new LinkedHashMap<>();
        query.put("sql", text);
        Map<String, String> settings = new TreeMap<>(environment.getConfig().getConfiguration().toMap());
        settings.keySet().removeIf(key -> !key.startsWith("table.") || key.startsWith("table.exec.resource")
                || key.contains("shuffle-mode") || key.startsWith("table.exec.disabled"));
        if (!settings.isEmpty()) {
            query.put("config", settings);
        }
        functions(environment, text, query);
        query.put("from", used(environment, text));
        return query;
    }

    private static void functions(TableEnvironment environment, String text, Map<String, Object> found) {
        List<String> functions = new ArrayList<>();
        for (String name : environment.listUserDefinedFunctions()) {
            if (has(text, name)) {
                functions.add(name);
            }
        }
        if (!functions.isEmpty()) {
            found.put("functions", functions);
        }
    }

    private static boolean has(String text, String word) {
        return Pattern.compile("(?<![\\w$])" + Pattern.quote(word) + "(?![\\w$])", Pattern.CASE_INSENSITIVE)
                .matcher(text).find();
    }

    private static void outcome(TableEnvironmentImpl environment, QueryOperation operation, Map<String, Object> query) {
        environment.getConfig().getConfiguration().setString("table.exec.resource.default-parallelism", "1");
        try {
            calm();
            TableResult result = environment.executeInternal(operation);
            List<Object> types = new ArrayList<>();
            result.getResolvedSchema().getColumnDataTypes().forEach(each -> types.add(text(each.getLogicalType())));
            query.put("types", types);
            List<Row> rows = collected(result);
            if (rows == null) {
                query.put("unread", "it does not end");
            } else if (rows.size() > MOST) {
                query.put("unread", "too many rows");
            } else {
                query.put("rows", Aggregates.rows(rows));
            }
        } catch (Throwable error) {
            query.put("fails", "run");
            query.put("message", message(error));
        }
    }

    private static List<Row> collected(TableResult result) throws Throwable {
        Future<List<Row>> waiting = RUNNING.submit(() -> {
            List<Row> rows = new ArrayList<>();
            try (var found = result.collect()) {
                while (found.hasNext()) {
                    rows.add(found.next());
                }
            }
            return rows;
        });
        try {
            return waiting.get(SECONDS, TimeUnit.SECONDS);
        } catch (TimeoutException error) {
            result.getJobClient().ifPresent(JobClient::cancel);
            return null;
        } catch (ExecutionException error) {
            throw error.getCause();
        }
    }

    private static String message(Throwable error) {
        Throwable last = error;
        while (last.getCause() != null && last.getCause() != last) {
            last = last.getCause();
        }
        String text = String.valueOf(last.getMessage());
        return text.substring(0, Math.min(text.length(), 200));
    }

    // -- tables -----------------------------------------------------------------------------------------------------

    /** The tables that a text names, each of which is written once. */
    private static List<String> used(TableEnvironment environment, String text) {
        Set<String> names = new HashSet<>();
        names.addAll(List.of(environment.listTables()));
        names.addAll(List.of(environment.listTemporaryTables()));
        List<String> found = new ArrayList<>();
        names.stream().sorted().filter(name -> has(text, name)).forEach(name -> {
            found.add(name);
            if (!tables.containsKey(name)) {
                Map<String, Object> table = new LinkedHashMap<>();
                tables.put(name, table);
                try {
                    table(environment, name, table);
                } catch (Throwable error) {
                    table.put("unread", Plain.error(error));
                }
            }
        });
        return found;
    }

    private static void table(TableEnvironment environment, String name, Map<String, Object> found) throws Throwable {
        TableEnvironmentImpl impl = (TableEnvironmentImpl) environment;
        ObjectIdentifier identifier =
                ObjectIdentifier.of(environment.getCurrentCatalog(), environment.getCurrentDatabase(), name);
        ContextResolvedTable table = impl.getCatalogManager().getTable(identifier).orElseThrow();
        ResolvedCatalogBaseTable<?> resolved = table.getResolvedTable();
        if (resolved.getTableKind() == CatalogBaseTable.TableKind.VIEW) {
            view(impl, name, resolved, found);
            return;
        }
        Map<String, String> options = resolved.getOptions();
        String text = String.valueOf(environment.executeSql("SHOW CREATE TABLE `" + name + "`").collect().next().getField(0));
        found.put("ddl", text.substring(0, text.lastIndexOf("\nWITH (")));
        if (options.containsKey("changelog-mode")) {
            found.put("changelog-mode", options.get("changelog-mode"));
        }
        String id = options.get("data-id");
        if ("values".equals(options.get("connector"))) {
            Map<String, Collection<Row>> data = registered();
            if (id != null && data.containsKey(id)) {
                found.put("rows", Aggregates.rows(new ArrayList<>(data.get(id))));
            } else if (id != null) {
                found.put("unread", "rows of another form");
            } else {
                found.put("rows", List.of());
            }
        } else {
            rows(impl, name, resolved.getResolvedSchema(), found);
        }
    }

    @SuppressWarnings("unchecked")
    private static Map<String, Collection<Row>> registered() throws Exception {
        return (Map<String, Collection<Row>>)
                Hidden.get(null, TestValuesTableFactory.class.getDeclaredField("registeredData"));
    }

    private static void view(
            TableEnvironmentImpl environment, String name, ResolvedCatalogBaseTable<?> view, Map<String, Object> found)
            throws Throwable {
        Object origin = view.getOrigin();
        if (!(origin instanceof QueryOperationCatalogView)) {
            String text = VIEWS.getOrDefault(
                    name, ((org.apache.flink.table.catalog.CatalogView) origin).getOriginalQuery());
            found.put("view", text);
            found.put("names", view.getResolvedSchema().getColumnNames());
            functions(environment, text, found);
            found.put("from", used(environment, text));
            return;
        }
        QueryOperation operation = ((QueryOperationCatalogView) origin).getQueryOperation();
        String text = TEXTS.get(operation);
        if (text == null) {
            try {
                text = written(operation);
                QueryOperation read = readBack(environment, text);
                text = read != null && types(read).equals(types(operation)) ? text : null;
            } catch (Throwable error) {
                text = null;
            }
        }
        if (text != null) {
            found.put("view", text);
            found.put("names", view.getResolvedSchema().getColumnNames());
            functions(environment, text, found);
            List<String> names = used(environment, text);
            names.remove(name);
            found.put("from", names);
            return;
        }
        rows(environment, name, view.getResolvedSchema(), found);
    }

    /** The rows that a table gives, in their order, with the watermark before each. */
    private static void rows(TableEnvironmentImpl environment, String name, ResolvedSchema schema, Map<String, Object> found)
            throws Throwable {
        List<Object> columns = new ArrayList<>();
        for (Column column : schema.getColumns()) {
            LogicalType type = column.getDataType().getLogicalType();
            String time = LogicalTypeChecks.isProctimeAttribute(type) ? "proctime"
                    : LogicalTypeChecks.isRowtimeAttribute(type) ? "rowtime" : "";
            columns.add(List.of(column.getName(), text(type), time));
        }
        found.put("columns", columns);
        environment.getConfig().getConfiguration().setString("table.exec.resource.default-parallelism", "1");
        calm();
        Table table = collectable(environment, name, schema);
        boolean streaming = environment.getConfig().getConfiguration()
                .get(org.apache.flink.configuration.ExecutionOptions.RUNTIME_MODE)
                == org.apache.flink.api.common.RuntimeExecutionMode.STREAMING;
        if (!streaming || !(environment
                instanceof org.apache.flink.table.api.bridge.internal.AbstractStreamTableEnvironmentImpl)) {
            List<Row> rows = collected(table.execute());
            if (rows == null) {
                found.put("unread", "it does not end");
            } else {
                kept(rows, found);
            }
            return;
        }
        watched(environment, table, found);
    }

    /** A table whose decimals are of a class of Java cannot be collected as it is. */
    private static Table collectable(TableEnvironmentImpl environment, String name, ResolvedSchema schema) {
        boolean cast = false;
        List<String> columns = new ArrayList<>();
        for (Column column : schema.getColumns()) {
            LogicalType type = column.getDataType().getLogicalType();
            String shown = "`" + column.getName() + "`";
            cast |= isDecimalOfJava(type);
            columns.add(isDecimalOfJava(type) ? "CAST(" + shown + " AS " + text(type) + ") AS " + shown : shown);
        }
        if (!cast) {
            return environment.from("`" + name + "`");
        }
        return environment.sqlQuery("SELECT " + String.join(", ", columns) + " FROM `" + name + "`");
    }

    private static boolean isDecimalOfJava(LogicalType type) {
        return type instanceof LegacyTypeInformationType
                && (type.is(LogicalTypeRoot.DECIMAL) || ofPrecision(type) != null);
    }

    private static BigDecimalTypeInfo ofPrecision(LogicalType type) {
        Object found = ((LegacyTypeInformationType<?>) type).getTypeInformation();
        return found instanceof BigDecimalTypeInfo ? (BigDecimalTypeInfo) found : null;
    }

    /** A type as text; a decimal of Java without a precision is read with that of the planner. */
    private static String text(LogicalType type) {
        if (!isDecimalOfJava(type)) {
            return Plain.type(plain(type));
        }
        BigDecimalTypeInfo found = ofPrecision(type);
        return found == null ? "DECIMAL(38, 18)" : "DECIMAL(" + found.precision() + ", " + found.scale() + ")";
    }

    private static void watched(TableEnvironmentImpl environment, Table table, Map<String, Object> found)
            throws Throwable {
        SEEN.clear();
        var execution = ((org.apache.flink.table.api.bridge.internal.AbstractStreamTableEnvironmentImpl) environment).execEnv();
        var bridge = StreamTableEnvironment.class.isInstance(environment) ? environment : null;
        org.apache.flink.streaming.api.datastream.DataStream<Row> stream = bridge != null
                ? ((StreamTableEnvironment) environment).toChangelogStream(table)
                : ((org.apache.flink.table.api.bridge.scala.StreamTableEnvironment) environment).toChangelogStream(table);
        try (var iterator = stream.process(new Seeing()).setParallelism(1).executeAndCollect()) {
            while (iterator.hasNext()) {
                iterator.next();
            }
        }
        List<Row> rows = new ArrayList<>();
        List<Object> marks = new ArrayList<>();
        boolean any = false;
        for (Object[] each : SEEN) {
            rows.add((Row) each[0]);
            boolean none = (Long) each[1] == Long.MIN_VALUE;
            any |= !none;
            marks.add(none ? "" : each[1]);
        }
        kept(rows, found);
        if (any) {
            found.put("watermarks", marks);
        }
    }

    private static void kept(List<Row> rows, Map<String, Object> found) {
        if (rows.size() > MOST) {
            found.put("unread", "too many rows");
            return;
        }
        List<?> columns = (List<?>) found.get("columns");
        for (int at = 0; at < columns.size(); at++) {
            if (((List<?>) columns.get(at)).get(2).equals("proctime")) {
                // It is the time of the recording.
                int place = at;
                rows.forEach(row -> row.setField(place, null));
            }
        }
        found.put("rows", Aggregates.rows(rows));
    }

    private static LogicalType plain(LogicalType type) {
        return type.is(LogicalTypeFamily.TIMESTAMP) ? LogicalTypeUtils.removeTimeAttributes(type) : type;
    }

    public static final class Seeing extends ProcessFunction<Row, String> {
        @Override
        public void processElement(Row row, Context context, Collector<String> out) {
            synchronized (SEEN) {
                SEEN.add(new Object[] {row, context.timerService().currentWatermark()});
            }
        }
    }
}
