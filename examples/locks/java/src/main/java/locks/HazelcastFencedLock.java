package locks;

import static java.util.concurrent.TimeUnit.MILLISECONDS;

import com.hazelcast.client.HazelcastClient;
import com.hazelcast.cp.lock.FencedLock;
import locks.Protocol.Failed;
import locks.Protocol.Grant;

/** Hazelcast's FencedLock, which ends with its client's CP session; the token is its fence. */
final class HazelcastFencedLock implements Protocol.Lock {
    private static final long WARM_UP_MS = 5_000;

    private final Protocol.Request start;
    private HazelcastConnection connection;

    HazelcastFencedLock(Protocol.Request start) {
        this.start = start;
        connection = new HazelcastConnection(start);
        Attempts.warmUp(() -> connection.call(WARM_UP_MS, locks -> locks.getLock("warm-up").isLocked()));
    }

    public Grant acquire(String resource, String owner, long waitMs) throws Exception {
        long fence = connection.call(
                waitMs, locks -> locks.getLock(resource).tryLockAndGetFence(waitMs, MILLISECONDS));
        if (fence == FencedLock.INVALID_FENCE) throw new Failed("not free in time");
        return new Grant(fence, null, null); // how long its session lasts depends on heartbeats
    }

    public void release(String resource, String owner) throws Exception {
        try {
            connection.call(0, locks -> {
                locks.getLock(resource).unlock(); // by this client and thread, not by the owner
                return null;
            });
        } catch (IllegalMonitorStateException error) {
            throw new Failed(error.getMessage());
        }
    }

    public void reconnect() {
        connection.close();
        connection = new HazelcastConnection(start);
    }

    public static void main(String[] arguments) {
        Protocol.serve(Versions.of("hazelcast", HazelcastClient.class), HazelcastFencedLock::new);
    }
}
