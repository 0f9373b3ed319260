package locks;

import static java.util.concurrent.TimeUnit.MILLISECONDS;

import locks.Protocol.Failed;
import locks.Protocol.Grant;
import org.redisson.Redisson;
import org.redisson.api.RFencedLock;
import org.redisson.api.RLock;

/** Redisson on one server: "fenced" is RFencedLock, "lease" RLock, "watchdog" an RLock that renews itself. */
record RedissonLock(String kind, long ttl, RedissonConnection connection, SecondThread second) implements Reentrant {
    private RLock lock(String resource) {
        String name = "lock:" + resource;
        return kind.equals("fenced") ? connection.client().getFencedLock(name) : connection.client().getLock(name);
    }

    public Grant acquire(String resource, String owner, long waitMs) throws Exception {
        RLock lock = lock(resource);
        if (kind.equals("watchdog")) {
            if (!lock.tryLock(waitMs, MILLISECONDS)) throw new Failed("not free in time");
            return new Grant(null, null, null); // it promises no length
        }
        Long token = null;
        if (lock instanceof RFencedLock fenced) {
            token = fenced.tryLockAndGetToken(waitMs, ttl, MILLISECONDS);
            if (token == null) throw new Failed("not free in time");
        } else if (!lock.tryLock(waitMs, ttl, MILLISECONDS)) {
            throw new Failed("not free in time");
        }
        long asked = System.nanoTime(); // Redisson hides when it sent the request: ask for the rest of the lease
        long left = lock.remainTimeToLive();
        if (left <= 0) throw new IllegalStateException("the lease ended before its length was known");
        return new Grant(token, left, asked);
    }

    public Grant acquireReentered(String resource, String owner, long waitMs) throws Exception {
        return second.reenter(this, resource, owner, waitMs);
    }

    public void release(String resource, String owner) throws Exception {
        try {
            second.release(owner, lock(resource)::unlock); // by this client and thread, not by the owner
        } catch (IllegalMonitorStateException error) {
            throw new Failed(error.getMessage());
        }
    }

    public void reconnect() { connection.drop(); }

    public static void main(String[] kind) {
        Protocol.serve(Versions.of("redisson", Redisson.class), start -> {
            RedissonConnection redis = new RedissonConnection(start);
            RedissonLock locks = new RedissonLock(kind[0], start.lock().ttl_ms(), redis, new SecondThread());
            Attempts.warmUp(() -> locks.lock("warm-up").isLocked());
            return locks;
        });
    }
}
