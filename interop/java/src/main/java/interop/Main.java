package interop;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;

/**
 * Does on Redisson what it reads, one JSON object a line, and answers by id.
 *
 * Arguments: the address of the servers, as Modes reads it, and the watchdog's timeout in ms.
 * A command names its actor; each actor is a thread of its own, because a Java lock belongs
 * to a thread, so that some may wait while others go on.
 */
public final class Main {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final PrintStream OUT = new PrintStream(System.out, true, StandardCharsets.UTF_8);

    public static void main(String[] args) throws Exception {
        Clients clients = new Clients(args[0], Long.parseLong(args[1]));
        Actors actors = new Actors();
        Verbs verbs = new Verbs(clients, actors);
        clients.get("");
        say(JSON.createObjectNode().put("ready", ProcessHandle.current().pid()));
        BufferedReader in = new BufferedReader(
            new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            Command command = new Command(JSON.readTree(line));
            actors.run(command.text("actor", "main"), () -> answer(verbs, command));
        }
        Runtime.getRuntime().halt(0);
    }

    private static void answer(Verbs verbs, Command command) {
        ObjectNode reply = JSON.createObjectNode();
        reply.set("id", command.node("id"));
        try {
            JsonNode value = JSON.valueToTree(verbs.perform(command));
            reply.set("answer", value);
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
