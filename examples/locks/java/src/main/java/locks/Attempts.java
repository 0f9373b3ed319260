package locks;

import java.util.concurrent.Callable;
import locks.Protocol.Failed;

/** Requests that an adapter repeats, or whose answer does not matter. */
final class Attempts {
    private static final long PAUSE_MS = 20;

    private Attempts() {}

    /** Tries until one is granted, and returns when that one was sent (System.nanoTime). */
    static long untilGranted(long waitMs, Callable<Boolean> attempt) throws Exception {
        long end = System.nanoTime() + waitMs * 1_000_000;
        while (true) {
            long sent = System.nanoTime();
            if (attempt.call()) return sent;
            if (System.nanoTime() > end) throw new Failed("not free in time");
            Thread.sleep(PAUSE_MS);
        }
    }

    /** Makes one request, without which the first grant would take seconds. */
    static void warmUp(Callable<?> request) {
        try {
            request.call();
        } catch (Exception error) {
            System.err.println(error); // the server does not answer now
        }
    }
}
