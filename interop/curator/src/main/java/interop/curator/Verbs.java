package interop.curator;

import java.io.IOException;
import java.io.InputStream;
import java.util.Properties;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.recipes.locks.Revoker;

/** Finds out what a command is about, and has it done. */
final class Verbs {
    private static final String POM =
        "/META-INF/maven/org.apache.curator/curator-recipes/pom.properties";

    private final Clients clients;
    private final Actors actors;

    Verbs(Clients clients, Actors actors) {
        this.clients = clients;
        this.actors = actors;
    }

    Object perform(Command command) throws Exception {
        String kind = command.text("kind");
        if (kind.equals("peer")) {
            return aboutItself(command);
        }
        Client client = clients.of(command);
        return switch (kind) {
            case "node" -> Nodes.perform(client.curator, command);
            case "mutex", "read", "write" -> Mutexes.perform(client, command);
            case "smutex", "multi" -> Locks.perform(client, command);
            case "semaphore" -> Semaphores.perform(client, command);
            case "leader" -> Leaders.perform(client, command);
            case "barrier" -> Barriers.single(client, command);
            case "double_barrier" -> Barriers.twofold(client, command);
            case "count" -> Counters.shared(client, command);
            case "long" -> Counters.atomic(client, command);
            default -> throw new IllegalArgumentException("no such kind: " + kind);
        };
    }

    private Object aboutItself(Command command) throws Exception {
        return switch (command.verb()) {
            case "connect" -> clients.make(command);
            case "close" -> clients.close(command);
            case "state" -> clients.of(command).states();
            case "session" -> clients.of(command).session();
            case "version" -> version();
            case "parked" -> actors.parked(command.text("whom"));
            case "interrupt" -> actors.interrupt(command.text("whom"));
            case "dismiss" -> actors.dismiss(command.text("whom"));
            case "revoke" -> revoke(clients.of(command).curator, command);
            case "soak" -> new Soak(clients.of(command), command).run();
            default -> throw command.unknown();
        };
    }

    private static boolean revoke(CuratorFramework curator, Command command) throws Exception {
        Revoker.attemptRevoke(curator, command.text("path"));
        return true;
    }

    /** What the jar of the recipes says of itself. */
    private static String version() throws IOException {
        Properties told = new Properties();
        try (InputStream file = Revoker.class.getResourceAsStream(POM)) {
            told.load(file);
        }
        return told.getProperty("version");
    }
}
