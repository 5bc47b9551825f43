package interop.curator;

import java.util.Arrays;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;

/** Threads by name: what an actor is told it does in turn, and never in another thread. */
final class Actors {
    private static final String RECIPES = "org.apache.curator.framework.recipes.";

    private final Map<String, ExecutorService> work = new ConcurrentHashMap<>();
    private final Map<String, Thread> threads = new ConcurrentHashMap<>();

    void run(String actor, Runnable task) {
        work.computeIfAbsent(actor, this::worker).execute(task);
    }

    /** Interrupt whatever an actor does now; it goes on with what it is told next. */
    boolean interrupt(String actor) {
        Thread thread = threads.get(actor);
        if (thread != null) {
            thread.interrupt();
        }
        return thread != null;
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

    /**
     * Whether an actor has been refused, watches and sleeps.
     *
     * A recipe arms its watch before it waits in its own code; who waits for an answer
     * sleeps deeper, in the ZooKeeper client.
     */
    boolean parked(String actor) {
        Thread thread = threads.get(actor);
        return thread != null
            && thread.getState() != Thread.State.RUNNABLE
            && Arrays.stream(thread.getStackTrace())
                .map(StackTraceElement::getClassName)
                .filter(name -> !name.startsWith("java."))
                .findFirst()
                .filter(name -> name.startsWith(RECIPES))
                .isPresent();
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
