package suites;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Function;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.table.api.DataTypes;
import org.apache.flink.table.api.EnvironmentSettings;
import org.apache.flink.table.api.Table;
import org.apache.flink.table.api.internal.TableEnvironmentImpl;
import org.apache.flink.table.catalog.DataTypeFactory;
import org.apache.flink.table.functions.BuiltInFunctionDefinition;
import org.apache.flink.table.types.DataType;
import org.apache.flink.types.Row;

/** The cases of tests of aggregate functions: queries over a table of changes. */
final class Aggregates {
    private static final String TABLE = "changes";

    private Aggregates() {}

    static List<Object> read(Class<?> test) throws Throwable {
        var constructor = test.getDeclaredConstructor();
        constructor.setAccessible(true);
        Stream<?> specs = Hidden.call(constructor.newInstance(), "getTestCaseSpecs");
        List<Object> found = new ArrayList<>();
        for (Object spec : specs.collect(Collectors.toList())) {
            found.add(spec(test.getSimpleName(), spec));
        }
        return found;
    }

    private static Object spec(String suite, Object spec) {
        Map<String, Object> found = new LinkedHashMap<>();
        BuiltInFunctionDefinition definition = Hidden.get(spec, "definition");
        String description = Hidden.get(spec, "description");
        found.put("suite", suite);
        found.put("set", (definition == null ? "" : definition.getName() + " ") + (description == null ? "" : description));
        Configuration configuration = Hidden.get(spec, "configuration");
        if (!configuration.toMap().isEmpty()) {
            found.put("config", configuration.toMap());
        }
        DataType type = Hidden.get(spec, "sourceRowType");
        found.put("columns", columns(type));
        found.put("rows", rows(Hidden.get(spec, "sourceRows")));
        List<Object> cases = new ArrayList<>();
        for (Object item : Hidden.<List<?>>get(spec, "testItems")) {
            // What Flink writes of the Table API in SQL is asked for scalar functions.
            if (!item.getClass().getSimpleName().equals("TableApiSqlResultTestItem")) {
                cases.add(item(item, type));
            }
        }
        found.put("cases", cases);
        return found;
    }

    private static List<Object> columns(DataType type) {
        List<String> names = DataType.getFieldNames(type);
        List<DataType> types = DataType.getFieldDataTypes(type);
        List<Object> found = new ArrayList<>();
        for (int at = 0; at < names.size(); at++) {
            found.add(List.of(names.get(at), Plain.type(types.get(at).getLogicalType())));
        }
        return found;
    }

    static List<Object> rows(List<Row> rows) {
        List<Object> found = new ArrayList<>();
        rows.forEach(row -> found.add(List.of(row.getKind().shortString(), Plain.value(row))));
        return found;
    }

    private static Object item(Object item, DataType source) {
        TableEnvironmentImpl tables = TableEnvironmentImpl.create(EnvironmentSettings.newInstance().build());
        DataTypeFactory factory = tables.getCatalogManager().getDataTypeFactory();
        tables.createTemporaryView(TABLE, tables.fromValues(source, List.of()));
        Map<String, Object> found = new LinkedHashMap<>();
        try {
            if (Hidden.has(item, "spec")) {
                Function<Table, String> spec = Hidden.get(item, "spec");
                Table table = tables.from(TABLE);
                found.put("sql", spec.apply(table).replace(table.toString(), TABLE));
            } else {
                found.put("api", Trees.trees(Hidden.get(item, "selectExpr"), factory));
                List<org.apache.flink.table.expressions.Expression> groups = Hidden.get(item, "groupByExpr");
                if (groups != null) {
                    found.put("group", Trees.trees(groups, factory));
                }
            }
            outcome(item, found);
        } catch (RuntimeException error) {
            found.put("unread", Plain.error(error));
        }
        return found;
    }

    private static void outcome(Object item, Map<String, Object> found) {
        if (Hidden.has(item, "errorMessage")) {
            found.put("fails", Hidden.<Boolean>get(item, "expectedDuringValidation") ? "plan" : "run");
            String message = Hidden.get(item, "errorMessage");
            if (message != null) {
                found.put("message", message);
            }
            return;
        }
        DataType type = Hidden.get(item, "expectedRowType");
        found.put("types", DataType.getFieldDataTypes(type).stream()
                .map(each -> Plain.type(each.getLogicalType())).collect(Collectors.toList()));
        found.put("rows", Plain.value(Hidden.get(item, "expectedRows")));
    }
}
