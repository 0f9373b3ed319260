// The line protocol of docs/adapters.md: copy this file, and write a class like the one in redlock.mjs.
//
// A lock throws Failed only if the request certainly had no effect and never will; any other error,
// a deadline's too, means that its outcome is unknown.

import { createInterface } from "node:readline";

/** The request had no effect, and never will. */
export class Failed extends Error {}

const RETRY = 20; // ms
const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]();

/** Write one line to Fencepost. */
export const say = (fields) => process.stdout.write(JSON.stringify(fields) + "\n");

/** Report that the lock is granted but its token is still to be fetched: a fault may stop us here. */
export async function granted() {
  say({ event: "granted", wait: true });
  await lines.next(); // the line "go-on"
}

/** Reject when a call takes longer than `ms`; its request may still take effect. */
export function within(ms, call) {
  let timer;
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error(`no answer within ${ms} ms`)), ms);
  });
  return Promise.race([call, late]).finally(() => clearTimeout(timer));
}

/** Repeat `attempt` until it returns something, and return when that one was sent, which a library's retries hide. */
export async function untilGranted(waitMs, attempt) {
  const ends = performance.now() + waitMs;
  for (;;) {
    const sent = process.hrtime.bigint().toString(); // CLOCK_MONOTONIC, ns, which fit no Number
    if (await attempt()) return sent;
    if (performance.now() + RETRY > ends) throw new Failed("not free in time");
    await new Promise((resolve) => setTimeout(resolve, RETRY));
  }
}

/** Answer requests until standard input ends; `connect` gets the first one, with the settings.
 *
 * The lock has `versions` and the methods acquire(resource, owner, waitMs), which returns token, ttl_ms
 * and attempt_ns, release(resource, owner), revoke(resource, owner) if it can, and reconnect(). Any of them may
 * return an outcome of its own, such as { outcome: "unsupported" }.
 */
export async function serve(connect) {
  let lock;
  const answer = async (request) => {
    const { op, resource, owner, wait_ms } = request;
    if (op === "start") {
      lock = await connect(request);
      return { versions: lock.versions, stop: true };
    }
    if (op === "acquire") return lock.acquire(resource, owner, wait_ms);
    if (op === "stop" && owner === null) return {}; // it holds nothing
    if (op === "release" || op === "stop") return lock.release(resource, owner);
    if (op === "revoke" && lock.revoke) return lock.revoke(resource, owner);
    if (op === "reconnect") return lock.reconnect();
    return { outcome: "unsupported" };
  };
  for (let line; !(line = await lines.next()).done; ) {
    const request = JSON.parse(line.value);
    if (!Number.isInteger(request?.id)) continue; // no request
    let fields;
    try {
      fields = { outcome: "ok", ...(await answer(request)) };
    } catch (error) {
      fields = { outcome: error instanceof Failed ? "failed" : "unknown", reason: String(error.message) };
    }
    say({ id: request.id, ...fields });
  }
  process.exit();
}
