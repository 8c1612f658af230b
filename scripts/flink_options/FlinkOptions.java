import java.io.File;
import java.lang.reflect.Field;
import java.lang.reflect.Modifier;
import java.net.URL;
import java.net.URLClassLoader;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.StringJoiner;
import java.util.jar.JarEntry;
import java.util.jar.JarFile;

/**
 * Prints all configuration options that classes in jars of Flink declare, one a line, separated by tabs: key, type,
 * "list" or nothing, default, older names, values of an enumeration, class.
 */
public class FlinkOptions {
    public static void main(String[] jars) throws Exception {
        List<URL> urls = new ArrayList<>();
        for (String jar : jars) {
            urls.add(new File(jar).toURI().toURL());
        }
        URLClassLoader loader = new URLClassLoader(urls.toArray(new URL[0]), FlinkOptions.class.getClassLoader());
        Class<?> option = loader.loadClass("org.apache.flink.configuration.ConfigOption");
        for (String jar : jars) {
            try (JarFile file = new JarFile(jar)) {
                for (JarEntry entry : Collections.list(file.entries())) {
                    String name = entry.getName();
                    if (name.matches("org/apache/flink/(?!.*shaded).*(Option|Config|Constants)[^/]*\\.class")) {
                        print(name.substring(0, name.length() - 6).replace('/', '.'), loader, option);
                    }
                }
            }
        }
    }

    private static void print(String name, ClassLoader loader, Class<?> option) {
        try {
            for (Field field : Class.forName(name, false, loader).getDeclaredFields()) {
                if (Modifier.isStatic(field.getModifiers()) && option.isAssignableFrom(field.getType())) {
                    field.setAccessible(true);
                    print(name, field.get(null), option);
                }
            }
        } catch (ReflectiveOperationException | LinkageError problem) {
            System.err.println("left out " + name + ": " + problem);
        }
    }

    private static void print(String owner, Object found, Class<?> option) throws ReflectiveOperationException {
        if (found == null) {
            return;
        }
        Class<?> type = (Class<?>) hidden(option, "clazz", found);
        StringJoiner older = new StringJoiner(" ");
        for (Object name : (Iterable<?>) option.getMethod("fallbackKeys").invoke(found)) {
            older.add((String) name.getClass().getMethod("getKey").invoke(name));
        }
        StringJoiner values = new StringJoiner("|");
        if (type.isEnum()) {
            for (Object value : type.getEnumConstants()) {
                values.add(((Enum<?>) value).name());
            }
        }
        Object fallback = option.getMethod("defaultValue").invoke(found);
        System.out.println(String.join("\t",
            (String) option.getMethod("key").invoke(found),
            type.isEnum() ? "Enum" : type.getSimpleName(),
            (Boolean) hidden(option, "isList", found) ? "list" : "",
            fallback == null ? "" : fallback.toString().replaceAll("\\s+", " "),
            older.toString(), values.toString(), owner));
    }

    private static Object hidden(Class<?> owner, String name, Object object) throws ReflectiveOperationException {
        Field field = owner.getDeclaredField(name);
        field.setAccessible(true);
        return field.get(object);
    }
}
