package locks;

import org.springframework.integration.jdbc.lock.DefaultLockRepository;
import org.springframework.integration.jdbc.lock.JdbcLockRegistry;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.jdbc.datasource.DataSourceTransactionManager;

/** Spring Integration's JdbcLockRegistry on PostgreSQL; its leases end by the clocks of its clients. */
final class SpringJdbc {
    private static final String TABLE = "CREATE TABLE IF NOT EXISTS INT_LOCK (LOCK_KEY CHAR(36), REGION VARCHAR(100),"
            + " CLIENT_ID CHAR(36), CREATED_DATE TIMESTAMP NOT NULL, PRIMARY KEY (LOCK_KEY, REGION))";

    private SpringJdbc() {}

    static Protocol.Lock connect(Protocol.Request start) {
        Postgres postgres = new Postgres(start);
        DefaultLockRepository rows = new DefaultLockRepository(postgres);
        rows.setTimeToLive((int) start.lock().ttl_ms());
        rows.setTransactionManager(new DataSourceTransactionManager(postgres));
        rows.setInsertQuery(rows.getInsertQuery() + " ON CONFLICT DO NOTHING"); // as it advises for PostgreSQL
        rows.afterPropertiesSet();
        rows.afterSingletonsInstantiated();
        JdbcLockRegistry registry = new JdbcLockRegistry(rows);
        Attempts.warmUp(() -> registry.obtain("warm-up").tryLock());
        Runnable create = () -> new JdbcTemplate(postgres).execute(TABLE);
        return new SpringLock(registry, start.lock().ttl_ms(), create, postgres::resetConnection);
    }

    public static void main(String[] arguments) {
        Protocol.serve(Versions.of("spring-integration-jdbc", JdbcLockRegistry.class), SpringJdbc::connect);
    }
}
