package example;

import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.sql.SQLException;
import java.util.List;

/**
 * A client program in Java: a lease in PostgreSQL as the lock, and a register in the same database.
 *
 * <p>It implements the line protocol of docs/adapters.md: it reads one JSON object per line from
 * standard input, and answers each with one on standard output. With the argument "careless" it has
 * two bugs that often come together: a row that it updates does not exist, and it does not check how
 * many rows an UPDATE matched.
 */
public final class Main {
    private final Database database;
    private final Lease lease;
    private final Register register;

    private Main(JsonObject start, boolean careless) {
        // The lock is a table in the storage's database: it has no server of its own.
        JsonObject storage = start.getAsJsonObject("storage");
        String endpoint = storage.getAsJsonArray("endpoints").get(0).getAsString();
        String password = storage.get("password").getAsString();
        database = new Database(endpoint, password, start.get("timeout_ms").getAsInt());
        lease = new Lease(database, start.getAsJsonObject("lock").get("ttl_ms").getAsLong());
        register = new Register(database, careless);
    }

    public static void main(String[] arguments) throws IOException {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        PrintStream out = new PrintStream(System.out, true, StandardCharsets.UTF_8);
        Main client = null;
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            JsonObject request = JsonParser.parseString(line).getAsJsonObject();
            JsonObject answer;
            if (client == null) { // the first request has the settings
                client = new Main(request, List.of(arguments).contains("careless"));
                answer = outcome("ok");
            } else {
                answer = client.answer(request);
            }
            answer.add("id", request.get("id"));
            out.println(answer);
        }
    }

    /** Executes a request and returns its outcome; if in doubt, unknown. */
    private JsonObject answer(JsonObject request) {
        try {
            return perform(request);
        } catch (StaleException stale) {
            return outcome("stale");
        } catch (FailedException failed) {
            return because("failed", failed);
        } catch (SQLException doubt) { // a timeout or a broken connection: it may have taken effect
            return because("unknown", doubt);
        }
    }

    private JsonObject perform(JsonObject request) throws SQLException {
        JsonObject done = outcome("ok");
        String resource = request.has("resource") ? request.get("resource").getAsString() : null;
        String owner = request.has("owner") ? request.get("owner").getAsString() : null;
        switch (request.get("op").getAsString()) {
            case "set_up" -> {
                for (var each : request.getAsJsonArray("resources")) {
                    lease.setUp(each.getAsString());
                    register.setUp(each.getAsString());
                }
            }
            case "acquire" -> {
                Lease.Grant grant = lease.acquire(resource, owner, request.get("wait_ms").getAsLong());
                done.addProperty("token", grant.token());
                done.addProperty("ttl_ms", grant.ttlMillis());
                done.addProperty("attempt_ns", grant.attemptNanos());
            }
            case "release", "revoke" -> lease.release(resource, owner);
            case "write" -> register.write(
                    resource, request.get("token").getAsLong(), request.get("value").getAsString());
            case "read" -> {
                Register.Content content = register.read(resource);
                done.addProperty("value", content.value());
                done.addProperty("token", content.token());
            }
            case "reconnect" -> database.disconnect();
            default -> {
                return outcome("unsupported");
            }
        }
        return done;
    }

    private static JsonObject outcome(String name) {
        JsonObject answer = new JsonObject();
        answer.addProperty("outcome", name);
        return answer;
    }

    private static JsonObject because(String name, Exception reason) {
        JsonObject answer = outcome(name);
        answer.addProperty("reason", String.valueOf(reason.getMessage()));
        return answer;
    }
}
