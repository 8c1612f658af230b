package suites;

import java.time.Period;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.table.api.DataTypes;
import org.apache.flink.table.api.EnvironmentSettings;
import org.apache.flink.table.api.Table;
import org.apache.flink.table.api.TableEnvironment;
import org.apache.flink.table.api.internal.TableEnvironmentInternal;
import org.apache.flink.table.catalog.Column;
import org.apache.flink.table.catalog.DataTypeFactory;
import org.apache.flink.table.expressions.DefaultSqlFactory;
import org.apache.flink.table.expressions.Expression;
import org.apache.flink.table.functions.BuiltInFunctionDefinition;
import org.apache.flink.table.operations.ProjectQueryOperation;
import org.apache.flink.table.types.AbstractDataType;
import org.apache.flink.types.Row;
import org.apache.flink.util.CloseableIterator;

/** The cases of tests of built-in functions: sets of expressions over one row. */
final class Functions {
    private final String suite;
    private final Configuration configuration;

    private Functions(String suite, Configuration configuration) {
        this.suite = suite;
        this.configuration = configuration;
    }

    static List<Object> read(Class<?> test) throws Throwable {
        var constructor = test.getDeclaredConstructor();
        constructor.setAccessible(true);
        Object made = constructor.newInstance();
        Stream<?> specs = Hidden.call(made, "getTestSetSpecs");
        Functions reader = new Functions(test.getSimpleName(), Hidden.call(made, "getConfiguration"));
        List<Object> found = new ArrayList<>();
        for (Object spec : specs.collect(Collectors.toList())) {
            found.add(reader.spec(spec));
        }
        return found;
    }

    private Map<String, Object> spec(Object spec) throws Exception {
        BuiltInFunctionDefinition definition = Hidden.get(spec, "definition");
        String description = Hidden.get(spec, "description");
        TableEnvironmentInternal tables =
                (TableEnvironmentInternal) TableEnvironment.create(
                        EnvironmentSettings.newInstance().withConfiguration(Cluster.address()).build());
        tables.getConfig().addConfiguration(configuration);
        Map<String, Object> found = new LinkedHashMap<>();
        found.put("suite", suite);
        found.put("set", (definition == null ? "" : definition.getName() + " ") + (description == null ? "" : description));
        if (!configuration.toMap().isEmpty()) {
            found.put("config", configuration.toMap());
        }
        List<Class<?>> functions = Hidden.get(spec, "functions");
        if (!functions.isEmpty()) {
            found.put("functions", functions.stream().map(Class::getSimpleName).collect(Collectors.toList()));
            functions.forEach(each -> register(tables, each));
        }
        Table input = null;
        try {
            Object[] data = Hidden.get(spec, "fieldData");
            input = input(tables, data, Hidden.get(spec, "fieldDataTypes"));
            if (input != null) {
                found.put("columns", columns(input));
                found.put("row", row(input, data));
            }
        } catch (Exception error) {
            found.put("unread", Plain.error(error));
        }
        List<Object> cases = new ArrayList<>();
        for (Object item : Hidden.<List<?>>get(spec, "testItems")) {
            cases.add(item(item, tables, input));
        }
        found.put("cases", cases);
        return found;
    }

    @SuppressWarnings({"unchecked", "rawtypes"})
    private static void register(TableEnvironment tables, Class<?> function) {
        tables.createTemporarySystemFunction(function.getSimpleName(), (Class) function);
    }

    static Table input(TableEnvironment tables, Object[] data, AbstractDataType<?>[] types) {
        if (data == null) {
            return null;
        }
        if (types == null) {
            return tables.fromValues(Row.of(data));
        }
        DataTypes.UnresolvedField[] fields = new DataTypes.UnresolvedField[types.length];
        for (int at = 0; at < types.length; at++) {
            fields[at] = DataTypes.FIELD("f" + at, types[at]);
        }
        return tables.fromValues(DataTypes.ROW(fields), Row.of(data));
    }

    static List<Object> columns(Table table) {
        List<Object> found = new ArrayList<>();
        for (Column column : table.getResolvedSchema().getColumns()) {
            found.add(List.of(column.getName(), Plain.type(column.getDataType().getLogicalType())));
        }
        return found;
    }

    /** The row as Flink gives it: values fit the types of their columns. Intervals are given as whole units. */
    private static Object row(Table table, Object[] data) throws Exception {
        List<Object> found = new ArrayList<>();
        try (CloseableIterator<Row> rows = table.execute().collect()) {
            Row row = rows.next();
            for (int at = 0; at < data.length; at++) {
                found.add(Plain.value(row.getField(at) instanceof Period ? data[at] : row.getField(at)));
            }
        }
        return found;
    }

    private Map<String, Object> item(Object item, TableEnvironmentInternal tables, Table input) {
        DataTypeFactory factory = tables.getCatalogManager().getDataTypeFactory();
        Map<String, Object> found = new LinkedHashMap<>();
        Object expression = Hidden.get(item, "expression");
        String kind = item.getClass().getSimpleName();
        try {
            if (expression instanceof String) {
                found.put("sql", expression);
            } else if (kind.equals("TableApiSqlResultTestItem")) {
                found.put("written", written(expressions(expression), tables, input));
            } else {
                found.put("api", Trees.trees(expressions(expression), factory));
            }
            if (Hidden.has(item, "errorMessage")) {
                error(item, found);
            } else {
                found.put("values", Plain.value(Hidden.get(item, "results")));
                List<String> types = new ArrayList<>();
                for (AbstractDataType<?> type : Hidden.<List<AbstractDataType<?>>>get(item, "dataTypes")) {
                    types.add(Plain.type(type, factory));
                }
                found.put("types", types);
            }
        } catch (RuntimeException error) {
            found.put("unread", Plain.error(error));
        }
        return found;
    }

    private static void error(Object item, Map<String, Object> found) {
        found.put("fails", Hidden.<Boolean>get(item, "expectedDuringValidation") ? "plan" : "run");
        Class<?> kind = Hidden.get(item, "errorClass");
        if (kind != null) {
            found.put("error", kind.getSimpleName());
        }
        String message = Hidden.get(item, "errorMessage");
        if (message != null) {
            found.put("message", message);
        }
    }

    @SuppressWarnings("unchecked")
    private static List<Expression> expressions(Object expression) {
        return expression instanceof Expression ? List.of((Expression) expression) : (List<Expression>) expression;
    }

    /** Expressions of the Table API as Flink writes them in SQL. */
    private static String written(List<Expression> expressions, TableEnvironment tables, Table input) {
        Expression[] given = expressions.toArray(new Expression[0]);
        Table table = input == null ? tables.fromValues(Row.of(0)).select(given) : input.select(given);
        ProjectQueryOperation project = (ProjectQueryOperation) table.getQueryOperation();
        return project.getProjectList().stream()
                .map(each -> each.asSerializableString(DefaultSqlFactory.INSTANCE))
                .collect(Collectors.joining(", "));
    }
}
