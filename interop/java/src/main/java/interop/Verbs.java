package interop;

import org.redisson.api.RLock;

/** Finds out what a command is about, and has it done. */
final class Verbs {
    private final Clients clients;
    private final Actors actors;

    Verbs(Clients clients, Actors actors) {
        this.clients = clients;
        this.actors = actors;
    }

    Object perform(Command command) throws Exception {
        return switch (command.text("kind")) {
            case "peer" -> aboutItself(command);
            case "fenced" -> Fenced.perform(clients.of(command).getFencedLock(command.text("name")), command);
            case "semaphore" -> Semaphores.plain(clients.of(command), command);
            case "leased_semaphore" -> Semaphores.leased(clients.of(command), command);
            case "latch" -> Latches.perform(clients.of(command), command);
            default -> Locks.perform(lock(command), command);
        };
    }

    private RLock lock(Command command) {
        return Locks.find(clients.of(command), command.text("kind"), command);
    }

    private Object aboutItself(Command command) throws Exception {
        return switch (command.text("verb")) {
            case "connect" -> clients.make(command);
            case "owner" -> clients.of(command).getId() + ":" + Thread.currentThread().getId();
            case "parked" -> actors.parked(command.text("whom"));
            case "dismiss" -> actors.dismiss(command.text("whom"));
            case "soak" -> new Soak(clients.of(command), command).run();
            default -> throw new IllegalArgumentException("no such verb: " + command.text("verb"));
        };
    }
}
