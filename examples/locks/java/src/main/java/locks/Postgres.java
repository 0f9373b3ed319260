package locks;

import org.springframework.jdbc.datasource.SingleConnectionDataSource;

/** One connection to PostgreSQL whose calls end in time; resetConnection() drops it. */
final class Postgres extends SingleConnectionDataSource {
    Postgres(Protocol.Request start) {
        super(url(start), "fencepost", start.lock().password(), true);
    }

    private static String url(Protocol.Request start) {
        long seconds = start.timeout_ms() / 1000;
        String timeouts = "?connectTimeout=%1$d&loginTimeout=%1$d&socketTimeout=%1$d".formatted(seconds);
        return "jdbc:postgresql://" + start.lock().endpoints()[0] + "/fencepost" + timeouts;
    }
}
