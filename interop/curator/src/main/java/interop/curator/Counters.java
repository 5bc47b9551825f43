package interop.curator;

import java.util.Map;
import org.apache.curator.framework.recipes.atomic.AtomicValue;
import org.apache.curator.framework.recipes.atomic.DistributedAtomicLong;
import org.apache.curator.framework.recipes.shared.SharedCount;

/** SharedCount, which follows its node, and DistributedAtomicLong, which asks. */
final class Counters {
    static Object shared(Client client, Command command) throws Exception {
        SharedCount count = client.thing(command, "count", SharedCount.class,
            () -> started(client, command.text("name"), command));
        switch (command.verb()) {
            case "get":
                return count.getCount();
            case "set":
                count.setCount((int) command.number("value"));
                return true;
            case "try_set":
                return count.trySetCount(count.getVersionedValue(), (int) command.number("value"));
            default:
                throw command.unknown();
        }
    }

    /** The count that a semaphore's maximum follows. */
    static SharedCount limit(Client client, Command command) {
        return started(client, command.text("count"), command);
    }

    private static SharedCount started(Client client, String path, Command command) {
        SharedCount count = new SharedCount(client.curator, path, (int) command.number("seed", 0));
        try {
            count.start();
        } catch (Exception error) {
            throw new IllegalStateException(error);
        }
        return count;
    }

    static Object atomic(Client client, Command command) throws Exception {
        DistributedAtomicLong number = new DistributedAtomicLong(
            client.curator, command.text("name"), Client.RETRIES);
        switch (command.verb()) {
            case "get":
                return told(number.get());
            case "add":
                return told(number.add(command.number("value")));
            case "compare_and_set":
                return told(number.compareAndSet(command.number("expected"), command.number("value")));
            case "set":
                number.forceSet(command.number("value"));
                return true;
            default:
                throw command.unknown();
        }
    }

    private static Map<String, Object> told(AtomicValue<Long> value) {
        return Map.of("done", value.succeeded(), "before", value.preValue(), "after", value.postValue());
    }

    private Counters() {
    }
}
