package locks;

import io.lettuce.core.ClientOptions;
import io.lettuce.core.ClientOptions.DisconnectedBehavior;
import io.lettuce.core.SocketOptions;
import java.time.Duration;
import org.springframework.data.redis.connection.RedisStandaloneConfiguration;
import org.springframework.data.redis.connection.lettuce.LettuceClientConfiguration;
import org.springframework.data.redis.connection.lettuce.LettuceConnectionFactory;
import org.springframework.integration.redis.util.RedisLockRegistry;

/** Spring Integration's RedisLockRegistry, which asks again and again (SPIN_LOCK, its default), with Lettuce. */
final class SpringRedis {
    private SpringRedis() {}

    static Protocol.Lock connect(Protocol.Request start) {
        LettuceConnectionFactory redis = new LettuceConnectionFactory(server(start), client(start));
        redis.afterPropertiesSet();
        redis.start();
        RedisLockRegistry registry = new RedisLockRegistry(redis, "locks", start.lock().ttl_ms());
        Attempts.warmUp(() -> registry.obtain("warm-up").tryLock());
        return new SpringLock(registry, start.lock().ttl_ms(), () -> {}, redis::resetConnection);
    }

    private static RedisStandaloneConfiguration server(Protocol.Request start) {
        String[] at = start.lock().endpoints()[0].split(":");
        RedisStandaloneConfiguration server = new RedisStandaloneConfiguration(at[0], Integer.parseInt(at[1]));
        server.setPassword(start.lock().password());
        return server;
    }

    private static LettuceClientConfiguration client(Protocol.Request start) {
        Duration timeout = Duration.ofMillis(start.timeout_ms() / 2); // a release that times out is sent again
        ClientOptions once = ClientOptions.builder()
                .autoReconnect(false) // which would also send unanswered commands again
                .disconnectedBehavior(DisconnectedBehavior.REJECT_COMMANDS)
                .socketOptions(SocketOptions.builder().connectTimeout(timeout).build())
                .build();
        return LettuceClientConfiguration.builder().clientOptions(once).commandTimeout(timeout).build();
    }

    public static void main(String[] arguments) {
        Protocol.serve(Versions.of("spring-integration-redis", RedisLockRegistry.class), SpringRedis::connect);
    }
}
