package interop.curator;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;

/**
 * Does on Curator what it reads, one JSON object a line, and answers by id.
 *
 * Arguments: the servers (host:port,host:port), a namespace or "-", and the session's timeout
 * in ms.  A command names its actor; each actor is a thread of its own, because a mutex
 * belongs to a thread, so that some may wait while others go on.
 */
public final class Main {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final PrintStream OUT = new PrintStream(System.out, true, StandardCharsets.UTF_8);

    public static void main(String[] args) {
        int status = 1;
        try {
            serve(new Clients(args[0], args[1], Integer.parseInt(args[2])));
            status = 0;
        } catch (Throwable error) {
            error.printStackTrace();
        }
        // Curator's own threads would keep the JVM alive.
        Runtime.getRuntime().halt(status);
    }

    private static void serve(Clients clients) throws Exception {
        Actors actors = new Actors();
        Verbs verbs = new Verbs(clients, actors);
        clients.get("").connected();
        say(JSON.createObjectNode().put("ready", ProcessHandle.current().pid()));
        BufferedReader in = new BufferedReader(
            new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            Command command = new Command(JSON.readTree(line));
            actors.run(command.actor(), () -> answer(verbs, command));
        }
    }

    private static void answer(Verbs verbs, Command command) {
        ObjectNode reply = JSON.createObjectNode();
        reply.set("id", command.node("id"));
        try {
            reply.set("answer", JSON.valueToTree(verbs.perform(command)));
        } catch (Throwable error) {
            reply.put("error", error.getClass().getSimpleName());
            reply.put("message", String.valueOf(error.getMessage()));
        }
        say(reply);
    }

    /** One whole line at a time, whichever thread speaks. */
    private static synchronized void say(ObjectNode reply) {
        OUT.println(reply);
    }

    private Main() {
    }
}
