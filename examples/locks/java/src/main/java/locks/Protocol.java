package locks;

import com.google.gson.Gson;
import com.google.gson.GsonBuilder;
import com.google.gson.JsonObject;
import java.io.PrintStream;
import java.util.Map;
import java.util.Scanner;
import java.util.function.Function;

/** The line protocol of docs/adapters.md: implement {@link Lock}, and call {@link #serve}. */
public final class Protocol {
    /** The request certainly had no effect and never will; after any other exception its outcome is unknown. */
    public static final class Failed extends Exception { public Failed(String reason) { super(reason); } }

    public record Server(String[] endpoints, long ttl_ms, String password) {}
    /** A line of Fencepost; only the first one, start, has timeout_ms and lock. */
    public record Request(long id, String op, String resource, String owner, long wait_ms, boolean reenter,
            int timeout_ms, Server lock) {}
    /** The token, the length of the lease, and when it was asked for (System.nanoTime): each null if unknown. */
    public record Grant(Long token, Long ttl_ms, Long attempt_ns) {}

    /** A lock library, with a deadline for every call; UnsupportedOperationException if it cannot do one. */
    public interface Lock {
        Grant acquire(String resource, String owner, long waitMs) throws Exception;
        void release(String resource, String owner) throws Exception;
        void reconnect() throws Exception;
        default void revoke(String resource, String owner) { throw new UnsupportedOperationException(); }
        default void setUp() throws Exception { throw new UnsupportedOperationException(); }
    }

    private static final Gson JSON = new GsonBuilder().serializeNulls().create();
    private static final PrintStream OUT = System.out;
    private static final Scanner IN = new Scanner(System.in);

    /** Reports that the lock is granted but its token is still to be fetched: a fault may stop us here. */
    public static void granted() {
        OUT.println(JSON.toJson(Map.of("event", "granted", "wait", true)));
        IN.nextLine(); // the line "go-on"
    }

    /** Answers requests until standard input ends; `connect` gets the first one, with the settings. */
    public static void serve(Map<String, String> versions, Function<Request, Lock> connect) {
        System.setOut(System.err); // libraries print there
        try {
            Request start = JSON.fromJson(IN.nextLine(), Request.class);
            Lock lock = connect.apply(start);
            OUT.println(JSON.toJson(Map.of("id", start.id, "outcome", "ok", "versions", versions, "stop", true,
                    "reenter", lock instanceof Reentrant)));
            while (IN.hasNextLine()) answer(JSON.fromJson(IN.nextLine(), Request.class), lock);
        } catch (Exception error) { error.printStackTrace(); }
        System.exit(0); // a library's threads would keep the JVM alive
    }

    private static void answer(Request asked, Lock lock) {
        JsonObject answer = new JsonObject();
        String outcome = "ok";
        try {
            switch (asked.op) {
                case "set_up" -> lock.setUp();
                case "acquire" -> answer = (JsonObject) JSON.toJsonTree(asked.reenter
                        ? ((Reentrant) lock).acquireReentered(asked.resource, asked.owner, asked.wait_ms)
                        : lock.acquire(asked.resource, asked.owner, asked.wait_ms));
                case "release" -> lock.release(asked.resource, asked.owner);
                case "stop" -> { if (asked.owner != null) lock.release(asked.resource, asked.owner); }
                case "revoke" -> lock.revoke(asked.resource, asked.owner);
                case "reconnect" -> lock.reconnect();
                default -> throw new UnsupportedOperationException();
            }
        } catch (UnsupportedOperationException error) {
            outcome = "unsupported";
        } catch (Exception error) {
            outcome = error instanceof Failed ? "failed" : "unknown";
            answer.addProperty("reason", String.valueOf(error.getMessage()));
        }
        answer.addProperty("id", asked.id);
        answer.addProperty("outcome", outcome);
        OUT.println(JSON.toJson(answer));
    }
}
