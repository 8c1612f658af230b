package suites;

import java.lang.reflect.Field;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;

/** Fields and methods that are not public. */
final class Hidden {
    private Hidden() {}

    static Object get(Object target, Field field) {
        try {
            field.setAccessible(true);
            return field.get(target);
        } catch (IllegalAccessException error) {
            throw new IllegalStateException(error);
        }
    }

    @SuppressWarnings("unchecked")
    static <T> T get(Object target, String name) {
        for (Class<?> where = target.getClass(); where != null; where = where.getSuperclass()) {
            try {
                return (T) get(target, where.getDeclaredField(name));
            } catch (NoSuchFieldException error) {
                continue;
            }
        }
        throw new IllegalStateException(target.getClass() + " has no field " + name);
    }

    static boolean has(Object target, String name) {
        try {
            get(target, name);
            return true;
        } catch (IllegalStateException error) {
            return false;
        }
    }

    @SuppressWarnings("unchecked")
    static <T> T call(Object target, String name) throws Throwable {
        for (Class<?> where = target.getClass(); where != null; where = where.getSuperclass()) {
            try {
                Method method = where.getDeclaredMethod(name);
                method.setAccessible(true);
                return (T) method.invoke(target);
            } catch (NoSuchMethodException error) {
                continue;
            } catch (InvocationTargetException error) {
                throw error.getCause();
            }
        }
        throw new IllegalStateException(target.getClass() + " has no method " + name);
    }
}
