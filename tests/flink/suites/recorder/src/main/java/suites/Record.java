package suites;

import java.io.PrintStream;
import java.lang.reflect.Modifier;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.nio.file.FileSystems;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** Reads the cases of Flink's compiled tests and writes them as lines of JSON, one file for each kind of test. */
public final class Record {
    private static final String TABLES = "org/apache/flink/table/";
    private static final String QUERIES = "\\.runtime\\.(stream|batch)\\.(sql|table)\\..*ITCase2?$";
    /** Tests of connectors, catalogs, models and of how a plan is carried out, not of what a query gives. */
    private static final Pattern LEFT = Pattern.compile("FileSystem|Compaction|FsStreaming|MLPredict|VectorSearch"
            + "|DeltaJoin|AnalyzeTable|[CR]tas|RTAS|DeleteTable|UpdateTable|TruncateTable|TableSink|TimeTravel"
            + "|CodeSplit|Generator|PrintConnector|BlackHole|Async|RuntimeFilter|DynamicFiltering|Adaptive"
            + "|ForwardHash|ScanReuse|Fusion|Partitionable|Procedure|DataStream|StreamTableEnvironment");
    private static final ClassLoader LOADER = Record.class.getClassLoader();

    private Record() {}

    interface Reader {
        List<Object> read(Class<?> test) throws Throwable;
    }

    public static void main(String[] args) throws Throwable {
        Path jar = Path.of(args[0]);
        Path folder = Path.of(args[1]);
        List<String> parts = List.of(args).subList(2, args.length);
        if (parts.contains("queries")) {
            // Before the classes that it changes are loaded.
            Watching.install();
        }
        List<Class<?>> tests = classes(jar);
        if (parts.contains("functions")) {
            write(folder.resolve("functions.jsonl"), below(tests, "BuiltInFunctionTestBase"), Functions::read);
        }
        if (parts.contains("expressions")) {
            write(folder.resolve("expressions.jsonl"), below(tests, "ExpressionTestBase"), Scalar::read);
        }
        if (parts.contains("aggregates")) {
            write(folder.resolve("aggregates.jsonl"), below(tests, "BuiltInAggregateFunctionTestBase"), Aggregates::read);
        }
        if (parts.contains("programs")) {
            List<Class<?>> holders = tests.stream()
                    .filter(each -> each.getSimpleName().endsWith("TestPrograms"))
                    .collect(Collectors.toList());
            write(folder.resolve("programs.jsonl"), holders, Programs::read);
        }
        if (parts.contains("queries")) {
            Pattern wanted = Pattern.compile(System.getProperty("suites.queries", ""));
            Pattern all = Pattern.compile(QUERIES);
            for (Class<?> test : tests) {
                String name = test.getName();
                if (all.matcher(name).find() && wanted.matcher(name).find() && !LEFT.matcher(name).find()) {
                    whole(folder.resolve("queries").resolve(name + ".jsonl"), out -> Queries.read(test, out));
                }
            }
        }
        System.exit(0);
    }

    interface Writer {
        void write(PrintStream out) throws Throwable;
    }

    /** Writes a file that is not there yet; one that is there is whole, and need not be written once more. */
    private static void whole(Path file, Writer writer) throws Throwable {
        if (Files.exists(file)) {
            return;
        }
        Files.createDirectories(file.getParent());
        Path begun = file.resolveSibling(file.getFileName() + ".begun");
        try (PrintStream out = opened(begun)) {
            writer.write(out);
        }
        Files.move(begun, file);
    }

    private static void write(Path file, List<Class<?>> tests, Reader reader) throws Throwable {
        whole(file, out -> {
            for (Class<?> test : tests) {
                try {
                    for (Object found : reader.read(test)) {
                        out.println(Plain.json(found));
                    }
                } catch (Throwable error) {
                    error.printStackTrace();
                    out.println(Plain.json(Map.of("suite", test.getSimpleName(), "unread", Plain.error(error))));
                }
                System.err.println(test.getSimpleName());
            }
        });
    }

    private static PrintStream opened(Path file) throws Exception {
        return new PrintStream(Files.newOutputStream(file), false, StandardCharsets.UTF_8);
    }

    /** Those that are neither abstract nor nested, by name. */
    private static List<Class<?>> classes(Path jar) throws Exception {
        List<Class<?>> found = new ArrayList<>();
        try (var files = FileSystems.newFileSystem(URI.create("jar:" + jar.toUri()), Map.of());
                Stream<Path> paths = Files.walk(files.getPath(TABLES))) {
            for (Path path : paths.sorted().collect(Collectors.toList())) {
                String name = path.toString();
                if (name.endsWith(".class") && !name.contains("$")) {
                    String plain = name.substring(name.startsWith("/") ? 1 : 0, name.length() - ".class".length());
                    load(plain.replace('/', '.'), found);
                }
            }
        }
        return found;
    }

    private static void load(String name, List<Class<?>> found) {
        try {
            Class<?> loaded = Class.forName(name, false, LOADER);
            if (!Modifier.isAbstract(loaded.getModifiers()) || name.endsWith("TestPrograms")) {
                found.add(loaded);
            }
        } catch (Throwable error) {
            System.err.println(name + ": " + error);
        }
    }

    private static List<Class<?>> below(List<Class<?>> tests, String base) {
        return tests.stream().filter(each -> isBelow(each, base)).collect(Collectors.toList());
    }

    private static boolean isBelow(Class<?> test, String base) {
        for (Class<?> each = test; each != null; each = each.getSuperclass()) {
            if (each.getSimpleName().equals(base)) {
                return true;
            }
        }
        return false;
    }
}
