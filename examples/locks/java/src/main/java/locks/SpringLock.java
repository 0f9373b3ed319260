package locks;

import java.util.ConcurrentModificationException;
import locks.Protocol.Failed;
import locks.Protocol.Grant;
import org.springframework.integration.support.locks.LockRegistry;

/** A lock of one of Spring Integration's registries; it belongs to the registry and the thread, not to the owner. */
record SpringLock(LockRegistry registry, long ttl, Runnable create, Runnable drop) implements Protocol.Lock {
    public Grant acquire(String resource, String owner, long waitMs) throws Exception {
        return new Grant(null, ttl, Attempts.untilGranted(waitMs, registry.obtain(resource)::tryLock));
    }

    public void release(String resource, String owner) throws Exception {
        try {
            registry.obtain(resource).unlock();
        } catch (IllegalStateException | IllegalMonitorStateException | ConcurrentModificationException error) {
            throw new Failed(error.getMessage());
        }
    }

    public void setUp() { create.run(); }

    public void reconnect() { drop.run(); }
}
