package interop;

import java.util.Arrays;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;

/** Threads by name: what an actor is told it does in turn, and never in another thread. */
final class Actors {
    /** Where a thread of Redisson sleeps that only a message, or the end of its time, wakes. */
    private static final Set<String> BEDS =
        Set.of("java.util.concurrent.Semaphore", "org.redisson.misc.ReclosableLatch");

    private final Map<String, ExecutorService> work = new ConcurrentHashMap<>();
    private final Map<String, Thread> threads = new ConcurrentHashMap<>();

    void run(String actor, Runnable task) {
        work.computeIfAbsent(actor, this::worker).execute(task);
    }

    /** Interrupt whatever an actor waits for, and forget it. */
    boolean dismiss(String actor) {
        ExecutorService worker = work.remove(actor);
        threads.remove(actor);
        if (worker != null) {
            worker.shutdownNow();
        }
        return worker != null;
    }

    /** Whether an actor has been refused, listens and sleeps. */
    boolean parked(String actor) {
        Thread thread = threads.get(actor);
        return thread != null
            && thread.getState() != Thread.State.RUNNABLE
            && Arrays.stream(thread.getStackTrace()).anyMatch(at -> BEDS.contains(at.getClassName()));
    }

    private ExecutorService worker(String actor) {
        return Executors.newSingleThreadExecutor(task -> {
            Thread thread = new Thread(task, actor);
            thread.setDaemon(true);
            threads.put(actor, thread);
            return thread;
        });
    }
}
