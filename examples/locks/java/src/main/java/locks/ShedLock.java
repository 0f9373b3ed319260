package locks;

import java.time.Duration;
import java.time.Instant;
import java.util.HashMap;
import java.util.Map;
import java.util.UUID;
import locks.Protocol.Failed;
import locks.Protocol.Grant;
import net.javacrumbs.shedlock.core.LockConfiguration;
import net.javacrumbs.shedlock.core.SimpleLock;
import net.javacrumbs.shedlock.provider.jdbctemplate.JdbcTemplateLockProvider;
import org.springframework.jdbc.core.JdbcTemplate;

/** ShedLock over JDBC, by the database's clock; it is for scheduled tasks, and neither waits nor renews. */
final class ShedLock implements Protocol.Lock {
    private final Duration atMostFor;
    private final Postgres postgres;
    private final JdbcTemplateLockProvider locks;
    private final Map<String, SimpleLock> held = new HashMap<>(); // by owner

    ShedLock(Protocol.Request start) {
        atMostFor = Duration.ofMillis(start.lock().ttl_ms());
        postgres = new Postgres(start);
        locks = new JdbcTemplateLockProvider(JdbcTemplateLockProvider.Configuration.builder()
                .withJdbcTemplate(new JdbcTemplate(postgres))
                .withLockedByValue(UUID.randomUUID().toString()) // by default the host's name, and we are all on one
                .usingDbTime()
                .build());
        Attempts.warmUp(() -> isGranted("warm-up", "nobody"));
    }

    public Grant acquire(String resource, String owner, long waitMs) throws Exception {
        long sent = Attempts.untilGranted(waitMs, () -> isGranted(resource, owner));
        return new Grant(null, atMostFor.toMillis(), sent);
    }

    private boolean isGranted(String resource, String owner) {
        LockConfiguration task = new LockConfiguration(Instant.now(), resource, atMostFor, Duration.ZERO);
        locks.lock(task).ifPresent(lock -> held.put(owner, lock));
        return held.containsKey(owner);
    }

    public void release(String resource, String owner) throws Exception {
        SimpleLock lock = held.remove(owner);
        if (lock == null) throw new Failed("it was not held");
        lock.unlock();
    }

    public void reconnect() { postgres.resetConnection(); }

    public void setUp() {
        new JdbcTemplate(postgres).execute("CREATE TABLE IF NOT EXISTS shedlock (name varchar(64) PRIMARY KEY,"
                + " lock_until timestamp NOT NULL, locked_at timestamp NOT NULL, locked_by varchar(255) NOT NULL)");
    }

    public static void main(String[] arguments) {
        Protocol.serve(Versions.of("shedlock", JdbcTemplateLockProvider.class), ShedLock::new);
    }
}
