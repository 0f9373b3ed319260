package locks;

import static java.util.concurrent.TimeUnit.MILLISECONDS;

import com.amazonaws.services.dynamodbv2.AcquireLockOptions;
import com.amazonaws.services.dynamodbv2.AmazonDynamoDBLockClient;
import com.amazonaws.services.dynamodbv2.LockItem;
import com.amazonaws.services.dynamodbv2.ReleaseLockOptions;
import com.amazonaws.services.dynamodbv2.model.LockCurrentlyUnavailableException;
import com.amazonaws.services.dynamodbv2.model.LockNotGrantedException;
import java.util.HashMap;
import java.util.Map;
import locks.Protocol.Failed;
import locks.Protocol.Grant;
import software.amazon.awssdk.services.dynamodb.model.ConditionalCheckFailedException;

/** amazon-dynamodb-lock-client, which keeps the lease alive by itself. */
final class DynamodbLock implements Protocol.Lock {
    private final Protocol.Request start;
    private final AmazonDynamoDBLockClient locks;
    private final Map<String, LockItem> held = new HashMap<>(); // by owner

    DynamodbLock(Protocol.Request start) {
        this.start = start;
        locks = Dynamodb.locks(start);
        Attempts.warmUp(locks::lockTableExists);
    }

    public Grant acquire(String resource, String owner, long waitMs) throws Exception {
        AcquireLockOptions once = AcquireLockOptions.builder(resource).withShouldSkipBlockingWait(true)
                .withTimeUnit(MILLISECONDS).withAdditionalTimeToWaitForLock(0L).withRefreshPeriod(1L).build();
        long sent = Attempts.untilGranted(waitMs, () -> {
            try {
                held.put(owner, locks.acquireLock(once));
                return true;
            } catch (LockCurrentlyUnavailableException error) {
                return false;
            } catch (LockNotGrantedException error) {
                if (error.getCause() instanceof ConditionalCheckFailedException) return false;
                throw error; // a timeout: it may have been granted
            }
        });
        return new Grant(null, null, sent); // it hides its heartbeats, so no length is promised
    }

    public void release(String resource, String owner) throws Exception {
        if (!held.containsKey(owner)) throw new Failed("it was not held");
        var release = ReleaseLockOptions.builder(held.remove(owner)).withBestEffort(false).build(); // report errors
        if (!locks.releaseLock(release)) throw new Failed("it was lost");
    }

    public void reconnect() {} // the SDK has closed the connection of a request without an answer

    public void setUp() { if (!locks.lockTableExists()) Dynamodb.createTable(start); }

    public static void main(String[] arguments) {
        Protocol.serve(Versions.of("dynamodb-lock-client", AmazonDynamoDBLockClient.class), DynamodbLock::new);
    }
}
