package interop.curator;

import java.lang.reflect.Field;
import java.lang.reflect.Method;
import org.apache.curator.framework.recipes.locks.InterProcessMutex;
import org.apache.curator.framework.recipes.locks.InterProcessSemaphoreMutex;
import org.apache.curator.framework.recipes.locks.Lease;

/** The node that a lock owes its grant to, which not every version tells everybody. */
final class Own {
    private static final Method LOCK_PATH = method(InterProcessMutex.class, "getLockPath");
    private static final Field LEASE = field(InterProcessSemaphoreMutex.class, "lease");

    /** The path of the calling thread's node, or null. */
    static String path(InterProcessMutex mutex) throws ReflectiveOperationException {
        return (String) LOCK_PATH.invoke(mutex);
    }

    /** The path of the lease of a mutex at such a path, or null. */
    static String path(InterProcessSemaphoreMutex mutex, String path)
            throws ReflectiveOperationException {
        Lease lease = (Lease) LEASE.get(mutex);
        return lease == null ? null : path(lease, path);
    }

    /** The path of a lease of the semaphore at such a path. */
    static String path(Lease lease, String path) {
        return path + "/leases/" + lease.getNodeName();
    }

    private static Method method(Class<?> type, String name) {
        try {
            Method method = type.getDeclaredMethod(name);
            method.setAccessible(true);
            return method;
        } catch (NoSuchMethodException missing) {
            throw new IllegalStateException(missing);
        }
    }

    private static Field field(Class<?> type, String name) {
        try {
            Field field = type.getDeclaredField(name);
            field.setAccessible(true);
            return field;
        } catch (NoSuchFieldException missing) {
            throw new IllegalStateException(missing);
        }
    }

    private Own() {
    }
}
