package suites;

import java.lang.reflect.Array;
import java.lang.reflect.Field;
import java.lang.reflect.Modifier;
import java.math.BigDecimal;
import java.sql.Timestamp;
import java.time.Duration;
import java.time.Period;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.core.JsonProcessingException;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.ObjectMapper;
import org.apache.flink.table.catalog.DataTypeFactory;
import org.apache.flink.table.data.DecimalData;
import org.apache.flink.table.types.AbstractDataType;
import org.apache.flink.table.types.logical.LogicalType;
import org.apache.flink.types.Row;
import org.apache.flink.types.bitmap.Bitmap;

/** Values and types of Flink's Java API as what JSON has: decimals, bytes and times as text, maps as pairs. */
final class Plain {
    private static final ObjectMapper JSON = new ObjectMapper();

    private Plain() {}

    static Object value(Object value) {
        if (value == null || value instanceof Boolean || value instanceof String || value instanceof Double) {
            return value;
        }
        if (value instanceof Float) {
            return Double.parseDouble(value.toString());
        }
        if (value instanceof BigDecimal) {
            return ((BigDecimal) value).toPlainString();
        }
        if (value instanceof DecimalData) {
            return ((DecimalData) value).toBigDecimal().toPlainString();
        }
        if (value instanceof Number) {
            return value;
        }
        if (value instanceof Bitmap) {
            return value(((Bitmap) value).toBytes());
        }
        if (value instanceof byte[]) {
            return HexFormat.of().formatHex((byte[]) value);
        }
        if (value instanceof Timestamp) {
            return value(((Timestamp) value).toLocalDateTime());
        }
        if (value instanceof Duration) {
            return Map.of("ms", ((Duration) value).toMillis());
        }
        if (value instanceof Period) {
            return Map.of("months", ((Period) value).toTotalMonths());
        }
        return nested(value);
    }

    private static Object nested(Object value) {
        if (value instanceof Row) {
            Row row = (Row) value;
            List<Object> fields = new ArrayList<>();
            if (row.getFieldNames(false) != null) {
                row.getFieldNames(false).forEach(name -> fields.add(value(row.getField(name))));
                return fields;
            }
            for (int at = 0; at < row.getArity(); at++) {
                fields.add(value(row.getField(at)));
            }
            return fields;
        }
        if (value instanceof Map) {
            List<List<Object>> pairs = new ArrayList<>();
            for (Map.Entry<?, ?> entry : ((Map<?, ?>) value).entrySet()) {
                List<Object> pair = new ArrayList<>();
                pair.add(value(entry.getKey()));
                pair.add(value(entry.getValue()));
                pairs.add(pair);
            }
            return Map.of("map", pairs);
        }
        if (value.getClass().isArray()) {
            List<Object> elements = new ArrayList<>();
            for (int at = 0; at < Array.getLength(value); at++) {
                elements.add(value(Array.get(value, at)));
            }
            return elements;
        }
        if (value instanceof List) {
            List<Object> elements = new ArrayList<>();
            ((List<?>) value).forEach(each -> elements.add(value(each)));
            return elements;
        }
        String name = value.getClass().getName();
        if (name.startsWith("java.") || value instanceof Enum) {
            return Map.of("text", value.toString());
        }
        if (name.contains("Variant")) {
            return Map.of("text", value.toString());
        }
        return fields(value);
    }

    /** The fields of an object of a structured type, in the order in which they are declared. */
    private static Object fields(Object value) {
        List<Object> fields = new ArrayList<>();
        for (Field field : value.getClass().getDeclaredFields()) {
            if (!Modifier.isStatic(field.getModifiers())) {
                fields.add(value(Hidden.get(value, field)));
            }
        }
        return fields;
    }

    static String type(AbstractDataType<?> type, DataTypeFactory factory) {
        return type(factory.createDataType(type).getLogicalType());
    }

    static String type(LogicalType type) {
        try {
            return type.asSerializableString();
        } catch (RuntimeException error) {
            return type.asSummaryString();
        }
    }

    /** The class of an error and the first line that it says: what follows may be where it was thrown. */
    static String error(Throwable error) {
        String text = String.valueOf(error).trim();
        return text.substring(0, Math.min(text.length(), 200)).split("\\R")[0];
    }

    static String json(Object value) {
        try {
            return JSON.writeValueAsString(value);
        } catch (JsonProcessingException error) {
            throw new IllegalStateException(error);
        }
    }
}
