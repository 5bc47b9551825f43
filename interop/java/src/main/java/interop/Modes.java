package interop;

import java.net.URI;
import java.util.Arrays;
import org.redisson.config.BaseMasterSlaveServersConfig;
import org.redisson.config.Config;
import org.redisson.config.ShardedSubscriptionMode;

/**
 * How a client finds its servers, by a URL as Interlock reads it:
 * redis://host:port, redis+sentinel://host:port,…/service or redis+cluster://host:port,….
 *
 * What concerns locks stays as Redisson has it; only the numbers of connections are small.
 * A cluster with ?sharded_channels=off uses plain channels, which Redisson can be told to do.
 */
final class Modes {
    static void use(Config config, String address) {
        URI url = URI.create(address);
        String[] hosts = hosts(url);
        switch (url.getScheme()) {
            case "redis" -> single(config, hosts[0]);
            case "redis+sentinel" -> few(config.useSentinelServers())
                .setMasterName(url.getPath().substring(1))
                .addSentinelAddress(hosts);
            case "redis+cluster" -> few(config.useClusterServers())
                .setShardedSubscriptionMode(channels(url))
                .addNodeAddress(hosts);
            default -> throw new IllegalArgumentException("no such address: " + address);
        }
    }

    private static String[] hosts(URI url) {
        return Arrays.stream(url.getAuthority().split(","))
            .map(host -> "redis://" + host)
            .toArray(String[]::new);
    }

    private static ShardedSubscriptionMode channels(URI url) {
        return "sharded_channels=off".equals(url.getQuery())
            ? ShardedSubscriptionMode.OFF : ShardedSubscriptionMode.AUTO;
    }

    private static void single(Config config, String host) {
        config.useSingleServer()
            .setAddress(host)
            .setConnectionMinimumIdleSize(2)
            .setConnectionPoolSize(24)
            .setSubscriptionConnectionMinimumIdleSize(1);
    }

    private static <T extends BaseMasterSlaveServersConfig<T>> T few(T servers) {
        return servers
            .setMasterConnectionMinimumIdleSize(2)
            .setMasterConnectionPoolSize(24)
            .setSlaveConnectionMinimumIdleSize(1)
            .setSlaveConnectionPoolSize(4)
            .setSubscriptionConnectionMinimumIdleSize(1);
    }

    private Modes() {
    }
}
