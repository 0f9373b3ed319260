// redis-semaphore's Mutex on one Redis server, which renews its lease by itself and gives no fencing token.
// An argument names the folder of another release than that of package.json: `npm install --prefix FOLDER`.

import { createRequire } from "node:module";
import { resolve } from "node:path";
import { Failed, say, serve, untilGranted } from "./protocol.mjs";
import { connect } from "./redis_server.mjs";

const require = createRequire(resolve(process.argv[2] ?? ".", "package.json"));
const { Mutex } = require("redis-semaphore");
const versions = Object.fromEntries(
  ["redis-semaphore", "ioredis"].map((name) => [name, require(`${name}/package.json`).version]),
);

// A renewal that gets no answer rejects, and the library does not catch that: Node would end.
process.on("unhandledRejection", (error) => console.error(error));

/** A mutex that reports its renewals. */
class Reported extends Mutex {
  constructor(redis, resource, owner, ttl_ms) {
    const onLockLost = () => {}; // without it, an error that nothing catches; isAcquired is false then
    super(redis, resource, { lockTimeout: ttl_ms, acquireAttemptsLimit: 1, onLockLost });
    this.renewed = (called_ns) => say({ event: "renewed", resource, owner, ttl_ms, called_ns: String(called_ns) });
    this.ttl = BigInt(ttl_ms) * 1_000_000n; // ns
  }

  async _refresh() {
    const sent = process.hrtime.bigint();
    const confirmed = await super._refresh();
    if (confirmed && process.hrtime.bigint() < sent + this.ttl) this.renewed(sent); // else it has ended again
    return confirmed;
  }

  /** Release it if an acquire without an answer took it. */
  async undo() {
    this.stopRefresh();
    await this._release();
  }

  /** Go on with another connection. */
  use(redis) {
    this._client = redis;
  }
}

class RedisSemaphoreLock {
  versions = { ...versions, node: process.version };
  held = new Map(); // by owner

  constructor(start) {
    this.start = start;
    this.reconnect();
  }

  async acquire(resource, owner, waitMs) {
    const { ttl_ms } = this.start.lock;
    const mutex = new Reported(this.redis, resource, owner, ttl_ms);
    this.held.set(owner, mutex); // at once, because it alone can revoke
    const attempt_ns = await untilGranted(waitMs, () => mutex.tryAcquire());
    return { token: null, ttl_ms, attempt_ns };
  }

  async release(_resource, owner) {
    const mutex = this.held.get(owner);
    if (!mutex?.isAcquired) throw new Failed("not acquired, or lost");
    await mutex.release();
    this.held.delete(owner);
  }

  async revoke(_resource, owner) {
    const mutex = this.held.get(owner);
    if (!mutex) return { outcome: "unsupported" }; // its identifier went with the program that drew it
    await mutex.undo();
    this.held.delete(owner);
  }

  reconnect() {
    this.redis?.disconnect();
    this.redis = connect(this.start.lock.endpoints[0], this.start);
    for (const mutex of this.held.values()) mutex.use(this.redis);
  }
}

serve(async (start) => new RedisSemaphoreLock(start)).catch((error) => {
  console.error(error);
  process.exit(1);
});
