package interop.curator;

import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import org.apache.curator.framework.CuratorFramework;
import org.apache.zookeeper.KeeperException.NoNodeException;
import org.apache.zookeeper.data.Stat;

/** A plain look at the tree, within the namespace. */
final class Nodes {
    static Object perform(CuratorFramework curator, Command command) throws Exception {
        String path = command.text("name");
        return switch (command.verb()) {
            case "nodes" -> children(curator, path);
            case "data" -> HexFormat.of().formatHex(curator.getData().forPath(path));
            case "stat" -> stat(curator, path);
            case "token" -> czxid(curator, path);
            case "delete" -> delete(curator, path);
            default -> throw command.unknown();
        };
    }

    private static List<String> children(CuratorFramework curator, String path) throws Exception {
        try {
            return curator.getChildren().forPath(path).stream().sorted().toList();
        } catch (NoNodeException nobody) {
            return List.of();
        }
    }

    private static Map<String, Object> stat(CuratorFramework curator, String path) throws Exception {
        Stat stat = curator.checkExists().forPath(path);
        return stat == null ? null : Map.of(
            "czxid", stat.getCzxid(),
            "mzxid", stat.getMzxid(),
            "version", stat.getVersion(),
            "session", Long.toString(stat.getEphemeralOwner()));
    }

    /** The fencing token of whoever made this node; null when it is gone. */
    static Long czxid(CuratorFramework curator, String path) throws Exception {
        Stat stat = path == null ? null : curator.checkExists().forPath(path);
        return stat == null ? null : stat.getCzxid();
    }

    private static boolean delete(CuratorFramework curator, String path) throws Exception {
        curator.delete().forPath(path);
        return true;
    }

    private Nodes() {
    }
}
