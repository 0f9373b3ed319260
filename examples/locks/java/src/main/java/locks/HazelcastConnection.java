package locks;

import static java.util.concurrent.TimeUnit.MILLISECONDS;

import com.hazelcast.client.HazelcastClient;
import com.hazelcast.client.config.ClientConfig;
import com.hazelcast.core.HazelcastInstance;
import com.hazelcast.cp.CPSubsystem;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.function.Function;

/** A client of Hazelcast and its only thread, with a deadline for every call: the client itself has none. */
final class HazelcastConnection {
    private final ExecutorService thread = Executors.newSingleThreadExecutor();
    private final ClientConfig config = new ClientConfig();
    private final int timeoutMs;
    private HazelcastInstance client; // used in the thread alone

    HazelcastConnection(Protocol.Request start) {
        timeoutMs = start.timeout_ms();
        config.setProperty("hazelcast.client.invocation.timeout.seconds", String.valueOf((timeoutMs + 999) / 1000));
        config.setProperty("hazelcast.client.heartbeat.timeout", String.valueOf(timeoutMs));
        config.setProperty("hazelcast.client.heartbeat.interval", String.valueOf(timeoutMs / 4));
        config.getConnectionStrategyConfig().getConnectionRetryConfig().setClusterConnectTimeoutMillis(10L * timeoutMs);
        config.getNetworkConfig()
                .addAddress(start.lock().endpoints())
                .setSmartRouting(false) // otherwise it connects to every address that the members tell it
                .setConnectionTimeout(timeoutMs);
    }

    /** Makes a request, which may take `waitMs` longer than others; connects first if there is no client. */
    <T> T call(long waitMs, Function<CPSubsystem, T> request) throws Exception {
        try {
            return thread.submit(() -> {
                if (client == null) client = HazelcastClient.newHazelcastClient(config);
                return request.apply(client.getCPSubsystem());
            }).get(waitMs + timeoutMs, MILLISECONDS);
        } catch (ExecutionException error) {
            throw error.getCause() instanceof Exception cause ? cause : error;
        }
    }

    /** Ends the client, and with it its session and locks, as soon as its last call has ended; does not wait. */
    void close() {
        thread.submit(() -> {
            if (client != null) client.shutdown();
        });
        thread.shutdown();
    }
}
