// BullMQ as it is: the lock of a job lasts `ttl_ms`, its worker renews it, and stalled jobs are looked for twice
// as often. The token is the number of the attempt.

import { createRequire } from "node:module";
import { Queue, Worker } from "bullmq";
import { Failed, Handlers, serve, within } from "./protocol.mjs";

const { dependencies } = createRequire(import.meta.url)("./package.json");

class BullQueue {
  versions = { bullmq: dependencies.bullmq, ioredis: dependencies.ioredis, node: process.version };
  handlers = new Handlers();
  queues = new Map();
  workers = new Map();

  constructor(start) {
    this.start = start;
    const [host, port] = start.lock.endpoints[0].split(":");
    this.connection = { host, port: Number(port), password: start.lock.password, maxRetriesPerRequest: null };
  }

  async submit(name, job, dueMs) {
    if (!this.queues.has(name)) this.queues.set(name, this.quiet(new Queue(name, { connection: this.connection })));
    await within(this.start.timeout_ms, this.queues.get(name).add("job", {}, { jobId: job, delay: dueMs }));
  }

  take(name, waitMs) {
    if (!this.workers.has(name)) this.workers.set(name, this.worker(name));
    return this.handlers.take(waitMs);
  }

  /** The worker says of each job that it was completed or has failed, or it reports an error. */
  async complete(name, job, failed) {
    const worker = this.workers.get(name);
    const off = [];
    const ended = new Promise((resolve, reject) => {
      const on = (event, listener) => {
        worker.on(event, listener);
        off.push(() => worker.off(event, listener));
      };
      on("completed", resolve);
      on("failed", (_, error) => (failed ? resolve() : reject(new Failed(error.message))));
      on("error", (error) => reject(/lock/i.test(error.message) ? new Failed(error.message) : error));
    });
    try {
      this.handlers.end(job, failed);
      await within(this.start.timeout_ms, ended);
    } finally {
      off.forEach((each) => each());
    }
  }

  reconnect() {} // the library connects again by itself, and its worker goes on

  worker(name) {
    const { ttl_ms } = this.start.lock;
    const options = { connection: this.connection, lockDuration: ttl_ms, stalledInterval: ttl_ms / 2 };
    return this.quiet(new Worker(name, (job) => this.handlers.handle(job.id, job.attemptsStarted), options));
  }

  quiet(client) {
    return client.on("error", () => {}); // each call reports its own
  }
}

serve(async (start) => new BullQueue(start));
