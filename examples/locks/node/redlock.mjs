// redlock on one Redis server, which has no fencing token, with the usual home-made one: INCR after the grant.

import { createRequire } from "node:module";
import { Redis } from "ioredis";
import Redlock, { Lock, ResourceLockedError } from "redlock";
import { Failed, granted, monotonic, serve, sleep, within } from "./protocol.mjs";

const { dependencies } = createRequire(import.meta.url)("./package.json");
const RETRY = 20; // ms

class RedlockLock {
  versions = { ...dependencies, node: process.version };

  constructor(start) {
    this.start = start;
    this.reconnect();
  }

  async acquire(resource, owner, waitMs) {
    const ends = performance.now() + waitMs;
    for (;;) {
      const attempt_ns = monotonic(); // redlock's own retries would hide it
      try {
        const asked = this.redlock.acquire([`lock:${resource}`], this.start.lock.ttl_ms);
        this.held.set(owner, await within(this.start.timeout_ms, asked)); // else it would release, and time out again
      } catch (error) {
        if (!(await isLocked(error))) throw error;
        if (performance.now() + RETRY > ends) throw new Failed("not free in time");
        await sleep(RETRY);
        continue;
      }
      await granted();
      const token = await this.redis.incr(`token:${resource}`);
      return { token, ttl_ms: this.start.lock.ttl_ms, attempt_ns };
    }
  }

  async release(resource, owner) {
    const held = this.held.get(owner);
    if (!held) throw new Failed("not held");
    this.held.delete(owner);
    try {
      await this.redlock.release(new Lock(this.redlock, held.resources, held.value, [], held.expiration));
    } catch (error) {
      throw (await isLocked(error)) ? new Failed("no longer held") : error;
    }
  }

  async revoke() {
    return { outcome: "unsupported" }; // an acquire that threw never named its value: the lease has to end
  }

  reconnect() {
    this.redis?.disconnect();
    const [host, port] = this.start.lock.endpoints[0].split(":");
    const once = { retryStrategy: () => null, maxRetriesPerRequest: 0, autoResendUnfulfilledCommands: false };
    const deadlines = { commandTimeout: this.start.timeout_ms, connectTimeout: this.start.timeout_ms };
    const { password } = this.start.lock;
    this.redis = new Redis({ host, port: Number(port), password, ...once, ...deadlines });
    this.redis.on("error", () => {}); // each call reports its own
    this.redlock = new Redlock([this.redis], { retryCount: 0 });
    this.redlock.on("error", () => {});
    this.held ??= new Map();
  }
}

/** Did Redis refuse, because the key was there (or at a release: was not ours)? */
async function isLocked(error) {
  const stats = await Promise.all(error.attempts ?? []);
  const against = stats.flatMap((each) => [...each.votesAgainst.values()]);
  return against.length > 0 && against.every((each) => each instanceof ResourceLockedError);
}

serve(async (start) => new RedlockLock(start));
