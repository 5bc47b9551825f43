package interop;

import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.redisson.Redisson;
import org.redisson.api.RedissonClient;
import org.redisson.config.Config;

/** Redisson clients by name; each has an identity of its own, as other JVMs would. */
final class Clients {
    private final Map<String, RedissonClient> clients = new ConcurrentHashMap<>();
    private final String address;
    private final long watchdogMs;

    Clients(String address, long watchdogMs) {
        this.address = address;
        this.watchdogMs = watchdogMs;
    }

    RedissonClient get(String name) {
        return clients.computeIfAbsent(name, any -> connect(address, watchdogMs));
    }

    RedissonClient of(Command command) {
        return get(command.text("client", ""));
    }

    /** Make a client with an address or a watchdog of its own; the first of a name stays. */
    String make(Command command) {
        String other = command.text("address", address);
        long watchdog = command.number("watchdog_ms", watchdogMs);
        return clients.computeIfAbsent(command.text("client"), any -> connect(other, watchdog)).getId();
    }

    private static RedissonClient connect(String address, long watchdogMs) {
        Config config = new Config();
        config.setLockWatchdogTimeout(watchdogMs);
        config.setThreads(2).setNettyThreads(4);
        Modes.use(config, address);
        return Redisson.create(config);
    }
}
