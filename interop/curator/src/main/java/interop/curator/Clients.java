package interop.curator;

import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/** Curator's clients by name; each has a session of its own, as other JVMs would. */
final class Clients {
    private final Map<String, Client> clients = new ConcurrentHashMap<>();
    private final String hosts;
    private final String namespace;
    private final int sessionMs;

    Clients(String hosts, String namespace, int sessionMs) {
        this.hosts = hosts;
        this.namespace = namespace;
        this.sessionMs = sessionMs;
    }

    Client get(String name) {
        return clients.computeIfAbsent(name, any -> new Client(hosts, namespace, sessionMs));
    }

    Client of(Command command) {
        return get(command.text("client", ""));
    }

    /** Make a client with settings of its own; the first of a name stays. */
    boolean make(Command command) throws Exception {
        String where = command.text("hosts", hosts);
        String space = command.text("namespace", namespace);
        int session = (int) command.number("session_ms", sessionMs);
        clients.computeIfAbsent(command.text("client"), any -> new Client(where, space, session))
            .connected();
        return true;
    }

    /** End the session of a client, in good order. */
    boolean close(Command command) {
        Client client = clients.remove(command.text("client", ""));
        if (client != null) {
            client.close();
        }
        return client != null;
    }
}
