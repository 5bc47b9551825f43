package interop.curator;

import static java.util.concurrent.TimeUnit.SECONDS;

import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.function.Supplier;
import org.apache.curator.RetryPolicy;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.retry.BoundedExponentialBackoffRetry;

/** A session, what became of its connection, and the recipes that were made on it. */
final class Client {
    /** Some ten seconds: enough for an ensemble to find another leader. */
    static final RetryPolicy RETRIES = new BoundedExponentialBackoffRetry(50, 500, 20);

    final CuratorFramework curator;
    private final List<Map<String, Object>> states = new CopyOnWriteArrayList<>();
    private final Map<String, Object> things = new ConcurrentHashMap<>();

    Client(String hosts, String namespace, int sessionMs) {
        CuratorFrameworkFactory.Builder builder = CuratorFrameworkFactory.builder()
            .connectString(hosts)
            .sessionTimeoutMs(sessionMs)
            .connectionTimeoutMs(sessionMs)
            // It would learn the servers' own addresses, and walk around a proxy.
            .ensembleTracker(false)
            .retryPolicy(RETRIES);
        curator = (namespace.equals("-") ? builder : builder.namespace(namespace)).build();
        curator.getConnectionStateListenable().addListener((any, state) ->
            states.add(Map.of("state", state.name(), "at_ms", System.currentTimeMillis())));
        curator.start();
    }

    void connected() throws Exception {
        if (!curator.blockUntilConnected(20, SECONDS)) {
            throw new IllegalStateException("no server answers");
        }
    }

    /** What the connection has been, in order, and when. */
    List<Map<String, Object>> states() {
        return states;
    }

    String session() throws Exception {
        return Long.toString(curator.getZookeeperClient().getZooKeeper().getSessionId());
    }

    /**
     * The recipe that a command is about.
     *
     * Each actor has its own object of a kind and name, as a process of its own would; those
     * who say the same `object` share one.
     */
    <T> T thing(Command command, String kind, Class<T> type, Supplier<T> maker) {
        String whose = command.text("object", command.actor());
        String which = command.has("names") ? command.texts("names").toString() : command.text("name");
        return type.cast(things.computeIfAbsent(whose + " " + kind + " " + which, any -> maker.get()));
    }

    void close() {
        curator.close();
    }
}
