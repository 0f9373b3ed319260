package example;

import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.util.Properties;

/** One connection to PostgreSQL, opened by the first request that needs it. */
final class Database {
    private final String url;
    private final Properties properties = new Properties();
    private Connection connection;

    Database(String endpoint, String password, int timeoutMillis) {
        url = "jdbc:postgresql://" + endpoint + "/fencepost";
        String seconds = Integer.toString(Math.max(1, timeoutMillis / 1000));
        properties.setProperty("user", "fencepost");
        properties.setProperty("password", password);
        // These two end a call even while the server is stopped; a query timeout does not.
        properties.setProperty("connectTimeout", seconds);
        properties.setProperty("socketTimeout", seconds);
    }

    /** Returns the connection; if there is none, no request has been sent to the server. */
    Connection connection() {
        try {
            if (connection == null || connection.isClosed()) {
                connection = DriverManager.getConnection(url, properties);
            }
            return connection;
        } catch (SQLException error) {
            throw new FailedException("not connected: " + error.getMessage());
        }
    }

    /** Drops the connection: the server rolls back its open transaction. */
    void disconnect() {
        try {
            if (connection != null) {
                connection.close();
            }
        } catch (SQLException error) {
            System.err.println(error.getMessage());
        } finally {
            connection = null;
        }
    }
}
