// redlock on one Redis server, which has no fencing token, with the usual home-made one: INCR after the grant.

import { createRequire } from "node:module";
import Redlock, { Lock, ResourceLockedError } from "redlock";
import { Failed, granted, serve, untilGranted, within } from "./protocol.mjs";
import { connect } from "./redis_server.mjs";

const { ioredis, redlock } = createRequire(import.meta.url)("./package.json").dependencies;

class RedlockLock {
  // It cannot revoke: an acquire that threw never named its value, so its lease has to end.
  versions = { ioredis, redlock, node: process.version };
  held = new Map(); // by owner

  constructor(start) {
    this.start = start;
    this.reconnect();
  }

  async acquire(resource, owner, waitMs) {
    const { ttl_ms } = this.start.lock;
    const attempt_ns = await untilGranted(waitMs, async () => {
      const asked = this.redlock.acquire([`lock:${resource}`], ttl_ms);
      const held = await allowed(within(this.start.timeout_ms, asked)); // else it would release, and time out again
      if (held) this.held.set(owner, held);
      return held;
    });
    await granted();
    return { token: await this.redis.incr(`token:${resource}`), ttl_ms, attempt_ns };
  }

  async release(resource, owner) {
    const held = this.held.get(owner);
    if (!held) throw new Failed("not held");
    this.held.delete(owner);
    const again = new Lock(this.redlock, held.resources, held.value, [], held.expiration);
    if (!(await allowed(this.redlock.release(again)))) throw new Failed("no longer held");
  }

  reconnect() {
    this.redis?.disconnect();
    this.redis = connect(this.start.lock.endpoints[0], this.start);
    this.redlock = new Redlock([this.redis], { retryCount: 0 });
    this.redlock.on("error", () => {});
  }
}

/** Await an answer; null if Redis refused, because the key was there (or at a release: was not ours). */
async function allowed(asked) {
  try {
    return await asked;
  } catch (error) {
    const stats = await Promise.all(error.attempts ?? []);
    const against = stats.flatMap((each) => [...each.votesAgainst.values()]);
    if (against.length > 0 && against.every((each) => each instanceof ResourceLockedError)) return null;
    throw error;
  }
}

serve(async (start) => new RedlockLock(start));
