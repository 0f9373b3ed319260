package locks;

import static java.util.concurrent.TimeUnit.MILLISECONDS;

import org.redisson.Redisson;
import org.redisson.api.RedissonClient;
import org.redisson.config.Config;

/** A client of Redisson without retries. Each new one is another holder: the old one's locks end with their leases. */
final class RedissonConnection {
    private final Config config = new Config();
    private RedissonClient client;

    RedissonConnection(Protocol.Request start) {
        config.setLockWatchdogTimeout(start.lock().ttl_ms());
        config.useSingleServer()
                .setAddress("redis://" + start.lock().endpoints()[0])
                .setPassword(start.lock().password().isEmpty() ? null : start.lock().password())
                .setTimeout(start.timeout_ms())
                .setConnectTimeout(start.timeout_ms())
                .setRetryAttempts(0)
                .setConnectionMinimumIdleSize(1)
                .setConnectionPoolSize(4);
    }

    /** The client; connects if there is none. */
    RedissonClient client() {
        if (client == null) client = Redisson.create(config);
        return client;
    }

    /** Drops the client; the next request connects, for now the server may not answer. */
    void drop() {
        if (client != null) client.shutdown(0, 0, MILLISECONDS);
        client = null;
    }
}
