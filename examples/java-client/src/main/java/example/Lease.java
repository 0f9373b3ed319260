package example;

import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;

/**
 * The lock: a row with its holder and the end of the lease, and a counter that rises with each grant.
 *
 * <p>The statement that takes the lock increments the counter, which is the fencing token. Only the
 * database's clock decides when a lease is over. The promised lease counts from before the request
 * was sent, so the lease in the database ends later.
 */
final class Lease {
    record Grant(long token, long ttlMillis, long attemptNanos) {}

    private static final String TABLE = """
            CREATE TABLE IF NOT EXISTS lease (
                resource text PRIMARY KEY,
                owner text,
                token bigint NOT NULL DEFAULT 0,
                ends timestamptz NOT NULL DEFAULT '-infinity'
            )""";
    private static final String TAKE = """
            UPDATE lease
            SET owner = ?, token = token + 1, ends = clock_timestamp() + ? * interval '1 millisecond'
            WHERE resource = ? AND ends < clock_timestamp()
            RETURNING token""";
    private static final String GIVE_BACK = """
            UPDATE lease SET ends = '-infinity'
            WHERE resource = ? AND owner = ? AND ends >= clock_timestamp()""";
    private static final int POLL_MILLIS = 20;

    private final Database database;
    private final long ttlMillis;

    Lease(Database database, long ttlMillis) {
        this.database = database;
        this.ttlMillis = ttlMillis;
    }

    void setUp(String resource) throws SQLException {
        try (var create = database.connection().createStatement()) {
            create.execute(TABLE);
        }
        String row = "INSERT INTO lease (resource) VALUES (?) ON CONFLICT DO NOTHING";
        try (PreparedStatement insert = database.connection().prepareStatement(row)) {
            insert.setString(1, resource);
            insert.executeUpdate();
        }
    }

    /** Polls until it gets the lease. */
    Grant acquire(String resource, String owner, long waitMillis) throws SQLException {
        long deadline = System.nanoTime() + waitMillis * 1_000_000;
        while (System.nanoTime() < deadline) {
            long attempt = System.nanoTime(); // CLOCK_MONOTONIC on Linux
            try (PreparedStatement take = database.connection().prepareStatement(TAKE)) {
                take.setString(1, owner);
                take.setLong(2, ttlMillis);
                take.setString(3, resource);
                ResultSet taken = take.executeQuery();
                if (taken.next()) {
                    return new Grant(taken.getLong(1), ttlMillis, attempt);
                }
            }
            pause();
        }
        throw new FailedException("not free in time");
    }

    /** Releases the lease if it is still ours. */
    void release(String resource, String owner) throws SQLException {
        try (PreparedStatement giveBack = database.connection().prepareStatement(GIVE_BACK)) {
            giveBack.setString(1, resource);
            giveBack.setString(2, owner);
            if (giveBack.executeUpdate() == 0) {
                throw new FailedException("not the holder");
            }
        }
    }

    private static void pause() {
        try {
            Thread.sleep(POLL_MILLIS);
        } catch (InterruptedException interrupted) {
            throw new FailedException("interrupted");
        }
    }
}
