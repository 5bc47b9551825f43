package interop.curator;

import static java.util.concurrent.TimeUnit.MILLISECONDS;

import java.util.List;
import java.util.Map;
import org.apache.curator.framework.recipes.leader.LeaderLatch;

/** LeaderLatch; its participant has the `identity` that its first command gave. */
final class Leaders {
    static Object perform(Client client, Command command) throws Exception {
        LeaderLatch latch = client.thing(command, "leader", LeaderLatch.class,
            () -> new LeaderLatch(client.curator, command.text("name"), command.text("identity", "")));
        switch (command.verb()) {
            case "start":
                latch.start();
                return true;
            case "close":
                latch.close();
                return true;
            case "await":
                return await(latch, command);
            case "leads":
                return latch.hasLeadership();
            case "participants":
                return participants(latch);
            case "path":
                return latch.getOurPath();
            case "token":
                return Nodes.czxid(client.curator, latch.getOurPath());
            default:
                throw command.unknown();
        }
    }

    private static boolean await(LeaderLatch latch, Command command) throws Exception {
        if (command.has("ms")) {
            return latch.await(command.number("ms"), MILLISECONDS);
        }
        latch.await();
        return true;
    }

    private static List<Map<String, Object>> participants(LeaderLatch latch) throws Exception {
        return latch.getParticipants().stream()
            .map(each -> Map.<String, Object>of("id", each.getId(), "leads", each.isLeader()))
            .toList();
    }

    private Leaders() {
    }
}
