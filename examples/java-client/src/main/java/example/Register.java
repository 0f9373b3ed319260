package example;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;

/**
 * The storage: a row for each resource, with the highest token that was accepted.
 *
 * <p>A write locks the row, compares the tokens, and writes, in one transaction. Fencepost creates
 * the table and the audit of accepted writes; see docs/adapters.md.
 */
final class Register {
    record Content(String value, long token) {}

    private static final String LOCK = "SELECT mark FROM register WHERE resource = ? FOR UPDATE";
    /** The audit rows come only from the rows that the UPDATE changed. */
    private static final String WRITE = """
            WITH written AS (
                UPDATE register SET value = ?, token = ?, mark = ? WHERE resource = ?
                RETURNING resource, token, value
            )
            INSERT INTO audit (resource, token, value) SELECT resource, token, value FROM written""";
    private static final String READ = "SELECT value, token FROM register WHERE resource = ?";

    private final Database database;
    private final boolean careless;

    Register(Database database, boolean careless) {
        this.database = database;
        this.careless = careless;
    }

    /** Fencepost has created the rows. The careless client deletes one, as if it had been forgotten. */
    void setUp(String resource) throws SQLException {
        if (careless && !resource.equals("r0")) {
            String row = "DELETE FROM register WHERE resource = ?";
            try (PreparedStatement delete = database.connection().prepareStatement(row)) {
                delete.setString(1, resource);
                delete.executeUpdate();
            }
        }
    }

    void write(String resource, long token, String value) throws SQLException {
        Connection connection = database.connection();
        try {
            connection.setAutoCommit(false);
            if (token <= mark(connection, resource)) {
                throw new StaleException();
            }
            int rows = update(connection, resource, token, value);
            if (rows == 0 && !careless) {
                throw new FailedException("no row for " + resource);
            }
        } catch (SQLException error) { // no COMMIT was sent, and none will be
            database.disconnect();
            throw new FailedException(error.getMessage());
        } catch (StaleException | FailedException refused) {
            database.disconnect();
            throw refused;
        }
        connection.commit(); // if this fails, the outcome is unknown
        connection.setAutoCommit(true);
    }

    Content read(String resource) throws SQLException {
        try (PreparedStatement select = database.connection().prepareStatement(READ)) {
            select.setString(1, resource);
            ResultSet found = select.executeQuery();
            return found.next() ? new Content(found.getString(1), found.getLong(2)) : new Content(null, 0);
        }
    }

    private long mark(Connection connection, String resource) throws SQLException {
        try (PreparedStatement lock = connection.prepareStatement(LOCK)) {
            lock.setString(1, resource);
            ResultSet found = lock.executeQuery();
            if (found.next()) {
                return found.getLong(1);
            }
            if (careless) {
                return 0;
            }
            throw new FailedException("no row for " + resource);
        }
    }

    private int update(Connection connection, String resource, long token, String value) throws SQLException {
        try (PreparedStatement write = connection.prepareStatement(WRITE)) {
            write.setString(1, value);
            write.setLong(2, token);
            write.setLong(3, token);
            write.setString(4, resource);
            return write.executeUpdate();
        }
    }
}
