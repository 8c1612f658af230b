package org.apache.flink.formats.csv;

import java.lang.reflect.Array;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.LocalDate;
import java.time.LocalTime;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.Consumer;
import org.apache.flink.api.common.serialization.BulkWriter;
import org.apache.flink.api.common.serialization.DeserializationSchema;
import org.apache.flink.api.common.serialization.SerializationSchema;
import org.apache.flink.api.common.typeinfo.BasicTypeInfo;
import org.apache.flink.api.common.typeinfo.PrimitiveArrayTypeInfo;
import org.apache.flink.api.common.typeinfo.TypeInformation;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.api.java.typeutils.RowTypeInfo;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.core.fs.FSDataInputStream;
import org.apache.flink.core.fs.local.LocalDataInputStream;
import org.apache.flink.core.fs.local.LocalDataOutputStream;
import org.apache.flink.formats.common.TimestampFormat;
import org.apache.flink.formats.json.JsonFormatOptions;
import org.apache.flink.formats.json.JsonParserRowDataDeserializationSchema;
import org.apache.flink.formats.json.JsonRowDataDeserializationSchema;
import org.apache.flink.formats.json.JsonRowDataSerializationSchema;
import org.apache.flink.formats.json.JsonRowDeserializationSchema;
import org.apache.flink.formats.json.JsonRowSerializationSchema;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.JsonNode;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.ObjectMapper;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.dataformat.csv.CsvSchema;
import org.apache.flink.table.data.ArrayData;
import org.apache.flink.table.data.MapData;
import org.apache.flink.table.data.RowData;
import org.apache.flink.table.runtime.typeutils.InternalTypeInfo;
import org.apache.flink.table.types.logical.ArrayType;
import org.apache.flink.table.types.logical.LogicalType;
import org.apache.flink.table.types.logical.LogicalTypeRoot;
import org.apache.flink.table.types.logical.MapType;
import org.apache.flink.table.types.logical.RowType;
import org.apache.flink.table.types.logical.VarCharType;
import org.apache.flink.table.types.logical.utils.LogicalTypeParser;
import org.apache.flink.table.types.utils.TypeConversions;
import org.apache.flink.types.Row;

/**
 * Sends texts of fields through Flink's formats and writes what they read, and how the other half of the format writes
 * that again. In this package, since readers of CSV files can be made in it only.
 *
 * <p>Input: a file with a JSON array of {door, type, options, texts}. Output: the same with "answers": for each text an
 * array of the value, printed, and the text that is written for it; or of one object with the name of the exception.
 */
public final class Fields {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final String LAST = "z";

    public static void main(String[] args) throws Exception {
        List<Object> found = new ArrayList<>();
        for (JsonNode group : JSON.readTree(Path.of(args[0]).toFile())) {
            Map<String, Object> out = new TreeMap<>();
            out.put("door", group.get("door").asText());
            out.put("type", group.get("type").asText());
            out.put("options", group.get("options"));
            List<Object> answers = new ArrayList<>();
            for (JsonNode text : group.get("texts")) {
                answers.add(answer(group, text.asText()));
            }
            out.put("texts", group.get("texts"));
            out.put("answers", answers);
            found.add(out);
        }
        Files.writeString(Path.of(args[1]), JSON.writeValueAsString(found));
    }

    private interface Door {
        /** The rows of a message, each a list of printed values and a written message. */
        List<Object> read(byte[] message) throws Exception;
    }

    private static final Map<String, Door> DOORS = new HashMap<>();

    private static Object answer(JsonNode group, String text) {
        String door = group.get("door").asText();
        String key = door + group.get("type").asText() + group.get("options");
        try {
            Door made = DOORS.get(key);
            if (made == null) {
                made = door(door, group.get("type").asText(), group.get("options"));
                DOORS.put(key, made);
            }
            String message = door.startsWith("csv") ? text + "," + LAST : "{\"f\":" + text + ",\"last\":\"z\"}";
            if (group.get("options").has("separator")) {
                message = text + group.get("options").get("separator").asText() + LAST;
            }
            if (flag(group.get("options"), "whole")) {
                message = text;
            }
            return made.read(message.getBytes(StandardCharsets.UTF_8));
        } catch (Throwable problem) {
            Throwable cause = problem;
            while (cause.getCause() != null) {
                cause = cause.getCause();
            }
            return Map.of("error", cause.getClass().getSimpleName());
        }
    }

    private static Door door(String door, String type, JsonNode options) throws Exception {
        switch (door) {
            case "csv":
                return table(csv(row(type), options), csvWriter(row(type), options), row(type));
            case "csv-file":
                return file(
                        csvFile(row(type), options),
                        CsvFileFormatFactory.createCsvBulkWriterFactory(fileSchema(row(type), options), row(type)),
                        row(type));
            case "csv-reader":
                return file(
                        csvReader(row(type), options),
                        PythonCsvUtils.createCsvBulkWriterFactory(
                                readerSchema(row(type), options),
                                TypeConversions.fromLogicalToDataType(row(type))),
                        row(type));
            case "csv-row":
                return rows(csvRow(info(type), options), csvRowWriter(info(type), options));
            case "json":
                return table(json(row(type), options, true), jsonWriter(row(type), options), row(type));
            case "json-tree":
                return table(json(row(type), options, false), jsonWriter(row(type), options), row(type));
            case "json-row":
                return rows(jsonRow(info(type), options), new JsonRowSerializationSchema.Builder(info(type)).build());
            default:
                throw new IllegalArgumentException(door);
        }
    }

    private static boolean flag(JsonNode options, String name) {
        return options.has(name) && options.get(name).asBoolean();
    }

    private static RowType row(String type) {
        LogicalType field = LogicalTypeParser.parse(type, Fields.class.getClassLoader());
        return RowType.of(
                new LogicalType[] {field, new VarCharType(VarCharType.MAX_LENGTH)}, new String[] {"f", "last"});
    }

    private static void dialect(
            JsonNode options,
            Consumer<String> nulls,
            Consumer<String> elements,
            Consumer<Character> separator,
            Consumer<Character> escape,
            Consumer<Character> quote) {
        if (options.has("null")) nulls.accept(options.get("null").asText());
        if (options.has("elements")) elements.accept(options.get("elements").asText());
        if (options.has("separator")) separator.accept(options.get("separator").asText().charAt(0));
        if (options.has("escape")) escape.accept(options.get("escape").asText().charAt(0));
        if (options.has("quote")) quote.accept(options.get("quote").asText().charAt(0));
    }

    private static DeserializationSchema<RowData> csv(RowType type, JsonNode options) {
        var builder = new CsvRowDataDeserializationSchema.Builder(type, InternalTypeInfo.of(type));
        builder.setIgnoreParseErrors(flag(options, "lenient")).setAllowComments(flag(options, "comments"));
        dialect(
                options,
                builder::setNullLiteral,
                builder::setArrayElementDelimiter,
                builder::setFieldDelimiter,
                builder::setEscapeCharacter,
                builder::setQuoteCharacter);
        if (flag(options, "unquoted")) builder.disableQuoteCharacter();
        return builder.build();
    }

    private static SerializationSchema<RowData> csvWriter(RowType type, JsonNode options) {
        var builder = new CsvRowDataSerializationSchema.Builder(type);
        builder.setWriteBigDecimalInScientificNotation(!flag(options, "plain"));
        dialect(
                options,
                builder::setNullLiteral,
                builder::setArrayElementDelimiter,
                builder::setFieldDelimiter,
                builder::setEscapeCharacter,
                builder::setQuoteCharacter);
        if (flag(options, "unquoted")) builder.disableQuoteCharacter();
        return builder.build();
    }

    private static CsvSchema dialect(CsvSchema.Builder builder, JsonNode options) {
        dialect(
                options,
                builder::setNullValue,
                builder::setArrayElementSeparator,
                builder::setColumnSeparator,
                builder::setEscapeChar,
                builder::setQuoteChar);
        if (flag(options, "unquoted")) builder.disableQuoteChar();
        builder.setAllowComments(flag(options, "comments"));
        return builder.build();
    }

    private static CsvSchema fileSchema(RowType type, JsonNode options) {
        return dialect(CsvRowSchemaConverter.convert(type).rebuild(), options);
    }

    /** As the file system's table source makes it. */
    private static CsvReaderFormat<RowData> csvFile(RowType type, JsonNode options) {
        CsvSchema schema = fileSchema(type, options);
        boolean lenient = flag(options, "lenient");
        var converter = new CsvToRowDataConverters(lenient).createRowConverter(type, true);
        return new CsvReaderFormat<RowData>(
                org.apache.flink.util.jackson.JacksonMapperFactory::createCsvMapper,
                ignored -> schema,
                JsonNode.class,
                (JsonNode node, Void context) -> (RowData) converter.convert(node),
                InternalTypeInfo.of(type),
                lenient);
    }

    /** The schema that PyFlink's CsvSchemaBuilder builds. */
    private static CsvSchema readerSchema(RowType type, JsonNode options) {
        CsvSchema.Builder builder = CsvSchema.builder();
        LogicalType field = type.getTypeAt(0);
        if (field.is(LogicalTypeRoot.VARCHAR)) {
            builder.addColumn("f", CsvSchema.ColumnType.STRING);
        } else if (field.is(LogicalTypeRoot.BOOLEAN)) {
            builder.addColumn("f", CsvSchema.ColumnType.BOOLEAN);
        } else if (field.is(LogicalTypeRoot.ARRAY)) {
            builder.addArrayColumn("f", options.has("elements") ? options.get("elements").asText() : ";");
        } else {
            builder.addColumn("f", CsvSchema.ColumnType.NUMBER);
        }
        builder.addColumn("last", CsvSchema.ColumnType.STRING);
        return dialect(builder, options);
    }

    @SuppressWarnings("unchecked")
    private static CsvReaderFormat<RowData> csvReader(RowType type, JsonNode options) {
        var found = PythonCsvUtils.createCsvReaderFormat(
                readerSchema(type, options), TypeConversions.fromLogicalToDataType(type));
        if (flag(options, "lenient")) {
            found = found.withIgnoreParseErrors();
        }
        return (CsvReaderFormat<RowData>) (CsvReaderFormat<?>) found;
    }

    private static DeserializationSchema<Row> csvRow(TypeInformation<Row> type, JsonNode options) {
        var builder = new CsvRowDeserializationSchema.Builder(type);
        builder.setIgnoreParseErrors(flag(options, "lenient")).setAllowComments(flag(options, "comments"));
        dialect(
                options,
                builder::setNullLiteral,
                builder::setArrayElementDelimiter,
                builder::setFieldDelimiter,
                builder::setEscapeCharacter,
                builder::setQuoteCharacter);
        return builder.build();
    }

    private static SerializationSchema<Row> csvRowWriter(TypeInformation<Row> type, JsonNode options) {
        var builder = new CsvRowSerializationSchema.Builder(type).setLineDelimiter("");
        dialect(
                options,
                builder::setNullLiteral,
                builder::setArrayElementDelimiter,
                builder::setFieldDelimiter,
                builder::setEscapeCharacter,
                builder::setQuoteCharacter);
        return builder.build();
    }

    private static TimestampFormat times(JsonNode options) {
        return flag(options, "iso") ? TimestampFormat.ISO_8601 : TimestampFormat.SQL;
    }

    private static DeserializationSchema<RowData> json(RowType type, JsonNode options, boolean streaming) {
        boolean lenient = flag(options, "lenient");
        boolean strict = flag(options, "strict");
        return streaming
                ? new JsonParserRowDataDeserializationSchema(
                        type, InternalTypeInfo.of(type), strict, lenient, times(options))
                : new JsonRowDataDeserializationSchema(
                        type, InternalTypeInfo.of(type), strict, lenient, times(options));
    }

    private static SerializationSchema<RowData> jsonWriter(RowType type, JsonNode options) {
        return new JsonRowDataSerializationSchema(
                type, times(options), JsonFormatOptions.MapNullKeyMode.FAIL, "null", false, false);
    }

    private static DeserializationSchema<Row> jsonRow(TypeInformation<Row> type, JsonNode options) {
        var builder = new JsonRowDeserializationSchema.Builder(type);
        if (flag(options, "lenient")) builder.ignoreParseErrors();
        if (flag(options, "strict")) builder.failOnMissingField();
        return builder.build();
    }

    private static Door table(
            DeserializationSchema<RowData> reader, SerializationSchema<RowData> writer, RowType type)
            throws Exception {
        reader.open(null);
        writer.open(null);
        return message -> {
            List<RowData> read = new ArrayList<>();
            reader.deserialize(message, new org.apache.flink.api.common.functions.util.ListCollector<>(read));
            List<Object> found = new ArrayList<>();
            for (RowData row : read) {
                if (row != null) {
                    found.add(entry(plain(row, type), () -> writer.serialize(row)));
                }
            }
            return found;
        };
    }

    private static Door rows(DeserializationSchema<Row> reader, SerializationSchema<Row> writer) throws Exception {
        reader.open(null);
        writer.open(null);
        return message -> {
            Row row = reader.deserialize(message);
            List<Object> found = new ArrayList<>();
            if (row != null) {
                found.add(entry(plain(row), () -> writer.serialize(row)));
            }
            return found;
        };
    }

    private interface Written {
        byte[] get() throws Exception;
    }

    private static Object entry(Object value, Written written) {
        List<Object> both = new ArrayList<>();
        both.add(value);
        try {
            both.add(new String(written.get(), StandardCharsets.UTF_8));
        } catch (Throwable problem) {
            both.add(Map.of("error", problem.getClass().getSimpleName()));
        }
        return both;
    }

    private static Door file(
            CsvReaderFormat<RowData> format, BulkWriter.Factory<RowData> writers, RowType type) {
        return message -> {
            Path file = Files.createTempFile("fields", ".csv");
            Files.write(file, message);
            List<Object> found = new ArrayList<>();
            FSDataInputStream stream = new LocalDataInputStream(file.toFile());
            try (var reader = format.createReader(new Configuration(), stream)) {
                RowData row;
                while ((row = reader.read()) != null) {
                    RowData each = row;
                    found.add(entry(plain(row, type), () -> written(writers, each)));
                }
            } finally {
                Files.delete(file);
            }
            return found;
        };
    }

    private static byte[] written(BulkWriter.Factory<RowData> writers, RowData row) throws Exception {
        Path file = Files.createTempFile("fields", ".csv");
        try (var stream = new LocalDataOutputStream(file.toFile())) {
            BulkWriter<RowData> writer = writers.create(stream);
            writer.addElement(row);
            writer.finish();
        }
        byte[] found = Files.readAllBytes(file);
        Files.delete(file);
        return found;
    }

    /** A value of the table runtime as JSON that says what it is. */
    private static Object plain(RowData row, RowType type) {
        List<Object> found = new ArrayList<>();
        for (int at = 0; at < type.getFieldCount(); at++) {
            LogicalType field = type.getTypeAt(at);
            found.add(plain(RowData.createFieldGetter(field, at).getFieldOrNull(row), field));
        }
        return found;
    }

    private static Object plain(Object value, LogicalType type) {
        if (value == null) {
            return null;
        }
        switch (type.getTypeRoot()) {
            case DATE:
                return LocalDate.ofEpochDay((int) value).toString();
            case TIME_WITHOUT_TIME_ZONE:
                return LocalTime.ofNanoOfDay((int) value * 1_000_000L).toString();
            case ROW:
                return plain((RowData) value, (RowType) type);
            case ARRAY:
                {
                    LogicalType element = ((ArrayType) type).getElementType();
                    return list((ArrayData) value, element);
                }
            case MAP:
                {
                    MapData map = (MapData) value;
                    List<Object> keys = list(map.keyArray(), ((MapType) type).getKeyType());
                    List<Object> values = list(map.valueArray(), ((MapType) type).getValueType());
                    Map<String, Object> found = new TreeMap<>();
                    for (int at = 0; at < keys.size(); at++) {
                        found.put(String.valueOf(keys.get(at)), values.get(at));
                    }
                    return found;
                }
            default:
                return plain(value);
        }
    }

    private static List<Object> list(ArrayData array, LogicalType element) {
        List<Object> found = new ArrayList<>();
        ArrayData.ElementGetter getter = ArrayData.createElementGetter(element);
        for (int at = 0; at < array.size(); at++) {
            found.add(plain(getter.getElementOrNull(array, at), element));
        }
        return found;
    }

    private static Object plain(Object value) {
        if (value == null || value instanceof Boolean) {
            return value;
        }
        if (value instanceof byte[]) {
            return HexFormat.of().formatHex((byte[]) value);
        }
        if (value instanceof java.sql.Timestamp) {
            return ((java.sql.Timestamp) value).toLocalDateTime().toString();
        }
        if (value instanceof Row) {
            List<Object> found = new ArrayList<>();
            for (int at = 0; at < ((Row) value).getArity(); at++) {
                found.add(plain(((Row) value).getField(at)));
            }
            return found;
        }
        if (value instanceof Map) {
            Map<String, Object> found = new TreeMap<>();
            ((Map<?, ?>) value).forEach((key, each) -> found.put(String.valueOf(plain(key)), plain(each)));
            return found;
        }
        if (value.getClass().isArray()) {
            List<Object> found = new ArrayList<>();
            for (int at = 0; at < Array.getLength(value); at++) {
                found.add(plain(Array.get(value, at)));
            }
            return found;
        }
        return value.toString();
    }

    private static TypeInformation<Row> info(String type) {
        return new RowTypeInfo(
                new TypeInformation<?>[] {field(type), Types.STRING}, new String[] {"f", "last"});
    }

    private static TypeInformation<?> field(String type) {
        if (type.startsWith("ARRAY<")) {
            return Types.OBJECT_ARRAY(field(type.substring(6, type.length() - 1)));
        }
        if (type.startsWith("MAP<")) {
            return Types.MAP(Types.STRING, field(type.substring(4, type.length() - 1)));
        }
        if (type.startsWith("ROW<")) {
            TypeInformation<?>[] fields =
                    Arrays.stream(type.substring(4, type.length() - 1).split(" "))
                            .map(Fields::field)
                            .toArray(TypeInformation[]::new);
            String[] names = new String[fields.length];
            for (int at = 0; at < names.length; at++) {
                names[at] = String.valueOf((char) ('a' + at));
            }
            return new RowTypeInfo(fields, names);
        }
        switch (type) {
            case "BYTES":
                return PrimitiveArrayTypeInfo.BYTE_PRIMITIVE_ARRAY_TYPE_INFO;
            case "BIG_INT":
                return BasicTypeInfo.BIG_INT_TYPE_INFO;
            case "BIG_DEC":
                return BasicTypeInfo.BIG_DEC_TYPE_INFO;
            default:
                try {
                    return (TypeInformation<?>) Types.class.getField(type).get(null);
                } catch (ReflectiveOperationException problem) {
                    throw new IllegalArgumentException(type, problem);
                }
        }
    }
}
