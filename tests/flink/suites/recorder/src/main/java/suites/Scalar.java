package suites;

import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.apache.flink.table.catalog.DataTypeFactory;
import org.apache.flink.table.expressions.Expression;
import org.apache.flink.table.planner.expressions.utils.ExpressionTestBase;
import org.apache.flink.table.runtime.types.TypeInfoLogicalTypeConverter;
import org.apache.flink.table.types.logical.LogicalType;
import org.apache.flink.table.types.logical.RowType;
import org.junit.jupiter.api.Disabled;
import org.junit.jupiter.api.Test;

/** The cases of tests of expressions, whose values are compared as text. */
final class Scalar {
    private Scalar() {}

    static List<Object> read(Class<?> test) throws Throwable {
        List<Object> found = new ArrayList<>();
        Method[] methods = test.getMethods();
        Arrays.sort(methods, Comparator.comparing(Method::getName));
        for (Method method : methods) {
            if (method.isAnnotationPresent(Test.class) && !method.isAnnotationPresent(Disabled.class)) {
                found.add(read(test, method));
            }
        }
        return found;
    }

    private static Object read(Class<?> test, Method method) throws Throwable {
        ExpressionTestBase base = (ExpressionTestBase) test.getDeclaredConstructor().newInstance();
        Map<String, Object> found = new LinkedHashMap<>();
        found.put("suite", test.getSimpleName());
        found.put("set", method.getName());
        var before = base.tables.getConfig().getConfiguration().toMap();
        try {
            base.prepare();
            method.invoke(base);
        } catch (InvocationTargetException error) {
            found.put("unread", Plain.error(error.getCause()));
        }
        Map<String, String> config = new TreeMap<>(base.tableConfig().getConfiguration().toMap());
        config.keySet().removeAll(before.keySet());
        if (!config.isEmpty()) {
            found.put("config", config);
        }
        if (!base.testSystemFunctions().isEmpty()) {
            found.put("functions", new ArrayList<>(base.testSystemFunctions().keySet()));
        }
        try {
            input(base, found);
        } catch (Exception error) {
            found.put("unread", Plain.error(error));
        }
        DataTypeFactory factory = base.tables.getCatalogManager().getDataTypeFactory();
        List<Object> cases = new ArrayList<>();
        base.kept.forEach(each -> cases.add(one(each, factory)));
        found.put("cases", cases);
        return found;
    }

    private static void input(ExpressionTestBase base, Map<String, Object> found) throws Exception {
        if (base.testData() == null || base.testData().getArity() == 0) {
            return;
        }
        LogicalType type = base.containsLegacyTypes()
                ? TypeInfoLogicalTypeConverter.fromTypeInfoToLogicalType(base.typeInfo())
                : base.tables.getCatalogManager().getDataTypeFactory()
                        .createDataType(base.testDataType()).getLogicalType();
        List<Object> columns = new ArrayList<>();
        for (RowType.RowField field : ((RowType) type).getFields()) {
            columns.add(List.of(field.getName(), Plain.type(field.getType())));
        }
        found.put("columns", columns);
        found.put("row", Plain.value(base.testData()));
    }

    private static Object one(Object[] kept, DataTypeFactory factory) {
        Map<String, Object> found = new LinkedHashMap<>();
        if (kept[0] != null) {
            found.put("sql", kept[0]);
        } else {
            found.put("api", List.of(Trees.tree((Expression) kept[1], factory)));
        }
        if (kept[4] != null) {
            found.put("fails", "any");
            found.put("error", ((Class<?>) kept[4]).getSimpleName());
            found.put("message", kept[3]);
        } else if (kept[2] != null) {
            found.put("text", kept[2]);
        }
        return found;
    }
}
