package suites;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.apache.flink.table.api.ApiExpression;
import org.apache.flink.table.api.DataTypes;
import org.apache.flink.table.catalog.DataTypeFactory;
import org.apache.flink.table.expressions.CallExpression;
import org.apache.flink.table.expressions.Expression;
import org.apache.flink.table.expressions.FieldReferenceExpression;
import org.apache.flink.table.expressions.LookupCallExpression;
import org.apache.flink.table.expressions.SqlCallExpression;
import org.apache.flink.table.expressions.TypeLiteralExpression;
import org.apache.flink.table.expressions.UnresolvedCallExpression;
import org.apache.flink.table.expressions.UnresolvedReferenceExpression;
import org.apache.flink.table.expressions.ValueLiteralExpression;
import org.apache.flink.table.functions.BuiltInFunctionDefinition;
import org.apache.flink.table.functions.FunctionDefinition;

/** Expressions of the Table API as trees. */
final class Trees {
    private Trees() {}

    static Object tree(Expression expression, DataTypeFactory factory) {
        if (expression instanceof ApiExpression) {
            return tree(((ApiExpression) expression).toExpr(), factory);
        }
        Map<String, Object> found = new LinkedHashMap<>();
        if (expression instanceof UnresolvedReferenceExpression) {
            found.put("col", ((UnresolvedReferenceExpression) expression).getName());
        } else if (expression instanceof FieldReferenceExpression) {
            found.put("col", ((FieldReferenceExpression) expression).getName());
        } else if (expression instanceof ValueLiteralExpression) {
            literal((ValueLiteralExpression) expression, found);
        } else if (expression instanceof TypeLiteralExpression) {
            found.put("type", Plain.type(((TypeLiteralExpression) expression).getOutputDataType(), factory));
        } else if (expression instanceof SqlCallExpression) {
            found.put("sql", ((SqlCallExpression) expression).getSqlExpression());
        } else if (expression instanceof UnresolvedCallExpression) {
            found.put("call", name(((UnresolvedCallExpression) expression).getFunctionDefinition()));
            found.put("args", trees(expression.getChildren(), factory));
        } else if (expression instanceof CallExpression) {
            found.put("call", name(((CallExpression) expression).getFunctionDefinition()));
            found.put("args", trees(expression.getChildren(), factory));
        } else if (expression instanceof LookupCallExpression) {
            found.put("lookup", ((LookupCallExpression) expression).getUnresolvedName());
            found.put("args", trees(expression.getChildren(), factory));
        } else {
            found.put("other", expression.getClass().getSimpleName());
        }
        return found;
    }

    static List<Object> trees(List<? extends Expression> expressions, DataTypeFactory factory) {
        List<Object> found = new ArrayList<>();
        for (Expression each : expressions) {
            found.add(tree(each, factory));
        }
        return found;
    }

    private static void literal(ValueLiteralExpression literal, Map<String, Object> found) {
        Class<?> kept = literal.getOutputDataType().getConversionClass();
        Optional<?> value = literal.isNull() ? Optional.empty() : literal.getValueAs(kept);
        if (value.isPresent() && value.get() instanceof Enum) {
            found.put("symbol", value.get().getClass().getSimpleName() + "." + ((Enum<?>) value.get()).name());
            return;
        }
        found.put("lit", value.map(Plain::value).orElse(null));
        found.put("type", Plain.type(literal.getOutputDataType().getLogicalType()));
    }

    private static String name(FunctionDefinition definition) {
        if (definition instanceof BuiltInFunctionDefinition) {
            return ((BuiltInFunctionDefinition) definition).getName();
        }
        return "java:" + definition.getClass().getName();
    }
}
