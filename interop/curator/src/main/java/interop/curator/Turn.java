package interop.curator;

import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.recipes.locks.InterProcessLock;
import org.apache.curator.framework.recipes.locks.InterProcessMutex;
import org.apache.curator.framework.recipes.locks.InterProcessReadWriteLock;
import org.apache.curator.framework.recipes.locks.InterProcessSemaphoreMutex;
import org.apache.curator.framework.recipes.locks.InterProcessSemaphoreV2;
import org.apache.curator.framework.recipes.locks.Lease;

/** Some way to be one of few for a moment; each thread has a turn of its own. */
interface Turn {
    void take() throws Exception;

    /** The node that this turn was granted to. */
    String path() throws Exception;

    void give() throws Exception;

    static Turn of(CuratorFramework curator, String kind, String path, int max) {
        return switch (kind) {
            case "mutex" -> new Mutex(new InterProcessMutex(curator, path));
            case "read" -> new Mutex(new InterProcessReadWriteLock(curator, path).readLock());
            case "write" -> new Mutex(new InterProcessReadWriteLock(curator, path).writeLock());
            case "smutex" -> new Smutex(new InterProcessSemaphoreMutex(curator, path), path);
            case "semaphore" -> new Leased(new InterProcessSemaphoreV2(curator, path, max), path);
            default -> throw new IllegalArgumentException("no such kind: " + kind);
        };
    }

    record Mutex(InterProcessMutex mutex) implements Turn {
        public void take() throws Exception {
            mutex.acquire();
        }

        public String path() throws Exception {
            return Own.path(mutex);
        }

        public void give() throws Exception {
            mutex.release();
        }
    }

    record Smutex(InterProcessSemaphoreMutex mutex, String where) implements Turn {
        public void take() throws Exception {
            mutex.acquire();
        }

        public String path() throws Exception {
            return Own.path(mutex, where);
        }

        public void give() throws Exception {
            mutex.release();
        }
    }

    /** Remembers the lease that it has. */
    final class Leased implements Turn {
        private final InterProcessSemaphoreV2 semaphore;
        private final String where;
        private Lease lease;

        Leased(InterProcessSemaphoreV2 semaphore, String where) {
            this.semaphore = semaphore;
            this.where = where;
        }

        public void take() throws Exception {
            lease = semaphore.acquire();
        }

        public String path() {
            return Own.path(lease, where);
        }

        public void give() {
            semaphore.returnLease(lease);
        }
    }
}
