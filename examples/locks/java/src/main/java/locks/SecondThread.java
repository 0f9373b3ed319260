package locks;

import java.util.HashSet;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;

/** A thread that holds the locks of some owners, for a library that tells holders apart by their threads. */
final class SecondThread {
    private final Set<String> owners = new HashSet<>();
    private final ExecutorService thread = Executors.newSingleThreadExecutor(work -> {
        Thread daemon = new Thread(work);
        daemon.setDaemon(true);
        return daemon;
    });

    /** Takes a lock twice and gives it back twice in this thread, then takes it in the second one. */
    Protocol.Grant reenter(Protocol.Lock lock, String resource, String owner, long waitMs) throws Exception {
        for (int time = 0; time < 2; time++) lock.acquire(resource, owner, waitMs);
        for (int time = 0; time < 2; time++) lock.release(resource, owner);
        Protocol.Grant grant = run(() -> lock.acquire(resource, owner, waitMs));
        owners.add(owner);
        return grant;
    }

    /** Ends the hold of an owner, in its thread. */
    void release(String owner, Runnable unlock) throws Exception {
        if (owners.remove(owner)) {
            run(Executors.callable(unlock));
        } else {
            unlock.run();
        }
    }

    private <T> T run(Callable<T> work) throws Exception {
        try {
            return thread.submit(work).get();
        } catch (ExecutionException error) {
            throw error.getCause() instanceof Exception cause ? cause : error;
        }
    }
}
