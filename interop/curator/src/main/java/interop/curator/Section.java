package interop.curator;

import static java.nio.file.StandardOpenOption.APPEND;
import static java.nio.file.StandardOpenOption.CREATE;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.stream.Stream;

/**
 * What is guarded, outside of the store: files that everybody in any language uses alike.
 *
 * Whoever is inside of place i has a marker in the folder `inside-i`, and sees at most `max`
 * of them.  Where one at a time is admitted it also counts in `count-i` (read, thought about
 * and written, so that two at a time lose one) and appends its token to `tokens-i`.
 */
final class Section {
    private final Path inside;
    private final Path counter;
    private final Path tokens;
    private final int max;

    Section(Path folder, int place, int max) throws IOException {
        this.inside = Files.createDirectories(folder.resolve("inside-" + place));
        this.counter = folder.resolve("count-" + place);
        this.tokens = folder.resolve("tokens-" + place);
        this.max = max;
    }

    /** Whether there was room for the one with this token. */
    boolean visit(long token) throws IOException {
        Path marker = Files.createFile(inside.resolve("java-" + token));
        try {
            boolean room = crowd() <= max;
            if (max == 1) {
                count(token);
            }
            return crowd() <= max && room;
        } finally {
            Files.delete(marker);
        }
    }

    private long crowd() throws IOException {
        try (Stream<Path> markers = Files.list(inside)) {
            return markers.count();
        }
    }

    private void count(long token) throws IOException {
        long value = value();
        Thread.yield();
        Files.writeString(counter, Long.toString(value + 1));
        Files.writeString(tokens, token + "\n", CREATE, APPEND);
    }

    private long value() throws IOException {
        return Files.exists(counter) ? Long.parseLong(Files.readString(counter).trim()) : 0;
    }

    /** Whether nothing changes while somebody may read. */
    boolean look() throws IOException {
        long before = value();
        Thread.yield();
        return crowd() == 0 && before == value();
    }
}
