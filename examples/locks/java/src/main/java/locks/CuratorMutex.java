package locks;

import static java.util.concurrent.TimeUnit.MILLISECONDS;

import java.util.HashMap;
import java.util.Map;
import locks.Protocol.Failed;
import locks.Protocol.Grant;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.framework.recipes.locks.InterProcessMutex;
import org.apache.curator.retry.RetryNTimes;

/** Curator's InterProcessMutex on ZooKeeper; the token is the czxid of its znode: one more request. */
final class CuratorMutex implements Protocol.Lock {
    private static final class Mutex extends InterProcessMutex {
        Mutex(CuratorFramework client, String path) { super(client, path); }
        String znode() { return getLockPath(); } // which is protected
    }

    private final Protocol.Request start;
    private final Map<String, Mutex> held = new HashMap<>(); // by owner
    private CuratorFramework client;

    CuratorMutex(Protocol.Request start) {
        this.start = start;
        System.setProperty("zookeeper.request.timeout", String.valueOf(start.timeout_ms() / 2)); // ms
        reconnect();
        Attempts.warmUp(() -> client.checkExists().forPath("/locks"));
    }

    public Grant acquire(String resource, String owner, long waitMs) throws Exception {
        Mutex mutex = new Mutex(client, "/locks/" + resource);
        if (!mutex.acquire(waitMs, MILLISECONDS)) throw new Failed("not free in time");
        held.put(owner, mutex);
        Protocol.granted();
        long czxid = client.checkExists().forPath(mutex.znode()).getCzxid();
        return new Grant(czxid, null, null); // how long its session lasts depends on heartbeats
    }

    public void release(String resource, String owner) throws Exception {
        Mutex mutex = held.remove(owner);
        if (mutex == null) throw new Failed("its session has ended");
        mutex.release();
    }

    public void revoke(String resource, String owner) {} // reconnect has ended the session, and its locks with it
    public void reconnect() {
        if (client != null) new Thread(client::close).start(); // it waits for servers that may not answer now
        held.clear();
        String servers = String.join(",", start.lock().endpoints());
        int session = (int) start.lock().ttl_ms();
        client = CuratorFrameworkFactory.newClient(servers, session, start.timeout_ms(), new RetryNTimes(0, 0));
        client.start();
    }

    public static void main(String[] arguments) {
        Protocol.serve(Versions.of("curator-recipes", InterProcessMutex.class), CuratorMutex::new);
    }
}
