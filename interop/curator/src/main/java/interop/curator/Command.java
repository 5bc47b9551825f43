package interop.curator;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.ArrayList;
import java.util.List;

/** One line that was read: a verb, whom it is for, and its arguments. */
final class Command {
    private final JsonNode fields;

    Command(JsonNode fields) {
        this.fields = fields;
    }

    JsonNode node(String field) {
        return fields.get(field);
    }

    boolean has(String field) {
        return fields.hasNonNull(field);
    }

    String text(String field) {
        if (!has(field)) {
            throw new IllegalArgumentException("the command needs " + field + ": " + fields);
        }
        return fields.get(field).asText();
    }

    String text(String field, String otherwise) {
        return has(field) ? text(field) : otherwise;
    }

    long number(String field) {
        return Long.parseLong(text(field));
    }

    long number(String field, long otherwise) {
        return has(field) ? number(field) : otherwise;
    }

    List<String> texts(String field) {
        List<String> texts = new ArrayList<>();
        fields.get(field).forEach(item -> texts.add(item.asText()));
        return texts;
    }

    String actor() {
        return text("actor", "main");
    }

    String verb() {
        return text("verb");
    }

    IllegalArgumentException unknown() {
        return new IllegalArgumentException("no such verb: " + fields);
    }
}
