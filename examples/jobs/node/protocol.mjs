// The requests of a queue in the line protocol of docs/adapters.md: copy this file, and write a class like the
// one in bullmq.mjs.
//
// A queue throws Failed only if the request certainly had no effect and never will; any other error,
// a deadline's too, means that its outcome is unknown.

import { createInterface } from "node:readline";

/** The request had no effect, and never will. */
export class Failed extends Error {}

/** Reject when a call takes longer than `ms`; its request may still take effect. */
export function within(ms, call) {
  let timer;
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error(`no answer within ${ms} ms`)), ms);
  });
  return Promise.race([call, late]).finally(() => clearTimeout(timer));
}

/** The handlers that a library has called: each returns once Fencepost has completed its job. */
export class Handlers {
  begun = []; // not taken yet
  taken = new Map(); // by job

  /** What the library's handler does: wait until the job is completed; throw if it is to fail. */
  handle(job, token) {
    return new Promise((resolve, reject) => {
      this.begun.push({ job, token, resolve, reject });
      this.arrived?.();
    });
  }

  /** Return the next job whose handler has begun. */
  async take(waitMs) {
    const arrived = new Promise((resolve) => (this.arrived = resolve));
    if (!this.begun.length) await within(waitMs, arrived).catch(() => {});
    const handler = this.begun.shift();
    if (!handler) throw new Failed("no job came in time");
    this.taken.set(handler.job, handler);
    return { job: handler.job, token: handler.token };
  }

  /** Let the handler of a job return, or fail. */
  end(job, failed) {
    const handler = this.taken.get(job);
    if (!handler) throw new Failed("this worker does not execute it");
    this.taken.delete(job);
    if (failed) handler.reject(new Error("the job failed"));
    else handler.resolve();
  }
}

/** Answer requests until standard input ends; `connect` gets the first one, with the settings.
 *
 * The queue has `versions` and the methods submit(queue, job, dueMs), take(queue, waitMs), which returns job and
 * token, complete(queue, job, failed), which returns when the queue has acknowledged it, and reconnect().
 */
export async function serve(connect) {
  let queue;
  const answer = async ({ op, resource, job, ...fields }, request) => {
    if (op === "start") {
      queue = await connect(request);
      return { versions: queue.versions };
    }
    if (op === "submit") return queue.submit(resource, job, fields.due_ms);
    if (op === "take") return queue.take(resource, fields.wait_ms);
    if (op === "complete") return queue.complete(resource, job, fields.failed);
    if (op === "reconnect") return queue.reconnect();
    return { outcome: "unsupported" };
  };
  for await (const line of createInterface({ input: process.stdin })) {
    let request;
    try {
      request = JSON.parse(line);
    } catch {
      process.exit(1); // no request
    }
    if (!Number.isInteger(request?.id)) continue;
    let fields;
    try {
      fields = { outcome: "ok", ...(await answer(request, request)) };
    } catch (error) {
      fields = { outcome: error instanceof Failed ? "failed" : "unknown", reason: String(error.message) };
    }
    process.stdout.write(JSON.stringify({ id: request.id, ...fields }) + "\n");
  }
  process.exit();
}
