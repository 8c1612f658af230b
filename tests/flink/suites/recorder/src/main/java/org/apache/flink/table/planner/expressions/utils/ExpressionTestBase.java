package org.apache.flink.table.planner.expressions.utils;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.flink.api.java.typeutils.RowTypeInfo;
import org.apache.flink.table.api.EnvironmentSettings;
import org.apache.flink.table.api.TableConfig;
import org.apache.flink.table.api.ValidationException;
import org.apache.flink.table.api.internal.TableEnvironmentImpl;
import org.apache.flink.table.expressions.Expression;
import org.apache.flink.table.functions.ScalarFunction;
import org.apache.flink.table.types.AbstractDataType;
import org.apache.flink.types.Row;

/** Stands for the class of Flink's tests of this name, and keeps what those below it hand to it. */
public abstract class ExpressionTestBase {
    /** What was handed over: SQL, an expression, the text that is expected, the kind of failure. */
    public final List<Object[]> kept = new ArrayList<>();

    public final TableEnvironmentImpl tables;
    private TableConfig config;

    public ExpressionTestBase(boolean streaming) {
        EnvironmentSettings.Builder builder = EnvironmentSettings.newInstance();
        tables = TableEnvironmentImpl.create((streaming ? builder.inStreamingMode() : builder.inBatchMode()).build());
        config = tables.getConfig();
    }

    public static boolean $lessinit$greater$default$1() {
        return true;
    }

    public TableConfig tableConfig() {
        return config;
    }

    public void tableConfig_$eq(TableConfig given) {
        config = given;
    }

    public String nullable() {
        return "NULL";
    }

    public void prepare() {}

    public void evaluateExprs() {}

    public void testAllApis(Expression expression, String sql, String expected) {
        testTableApi(expression, expected);
        testSqlApi(sql, expected);
    }

    public void testTableApi(Expression expression, String expected) {
        keep(null, expression, expected);
    }

    public void testSqlApi(String sql, String expected) {
        keep(sql, null, expected);
    }

    public void testSqlApi(String sql) {
        keep(sql, null, null);
    }

    /** A test may also wait for what the call throws. */
    private void keep(String sql, Expression expression, String expected) {
        boolean awaited = StackWalker.getInstance()
                .walk(frames -> frames.anyMatch(frame -> frame.getMethodName().equals("catchThrowable")));
        if (!awaited) {
            kept.add(new Object[] {sql, expression, expected, null, null});
            return;
        }
        kept.add(new Object[] {sql, expression, null, null, RuntimeException.class});
        throw new ValidationException("");
    }

    public void testExpectedAllApisException(
            Expression expression, String sql, String words, Class<? extends Throwable> kind) {
        testExpectedTableApiException(expression, words, kind);
        testExpectedSqlException(sql, words, kind);
    }

    public Class<? extends Throwable> testExpectedAllApisException$default$4() {
        return RuntimeException.class;
    }

    public void testExpectedSqlException(String sql, String words, Class<? extends Throwable> kind) {
        kept.add(new Object[] {sql, null, null, words, kind});
    }

    public Class<? extends Throwable> testExpectedSqlException$default$3() {
        return RuntimeException.class;
    }

    public void testExpectedTableApiException(Expression expression, String words, Class<? extends Throwable> kind) {
        kept.add(new Object[] {null, expression, null, words, kind});
    }

    public Class<? extends Throwable> testExpectedTableApiException$default$3() {
        return RuntimeException.class;
    }

    public abstract Row testData();

    public AbstractDataType<?> testDataType() {
        throw new IllegalArgumentException("no types");
    }

    public Map<String, ScalarFunction> testSystemFunctions() {
        return new LinkedHashMap<>();
    }

    public boolean containsLegacyTypes() {
        return true;
    }

    public scala.collection.immutable.Map<String, ScalarFunction> functions() {
        return scala.collection.immutable.Map$.MODULE$.empty();
    }

    public RowTypeInfo typeInfo() {
        throw new IllegalArgumentException("no types");
    }

    public String timestampLtz(String text) {
        int dot = text.indexOf('.');
        return timestampLtz(text, dot < 0 ? 0 : text.length() - dot - 1);
    }

    public String timestampLtz(String text, int precision) {
        return "CAST(TIMESTAMP '" + text + "' AS TIMESTAMP_LTZ(" + precision + "))";
    }
}
