// pg-boss as it is, by fetch and complete: a job that takes longer than `ttl_ms` is given to another worker. The
// token is the number of the attempt.

import { createRequire } from "node:module";
import PgBoss from "pg-boss";
import { Failed, serve, within } from "./protocol.mjs";

const { dependencies } = createRequire(import.meta.url)("./package.json");
const POLL = 100; // ms

class Boss {
  versions = { "pg-boss": dependencies["pg-boss"], node: process.version };
  ids = new Map(); // of the jobs that this worker executes
  known = new Set(); // queues

  constructor(boss, start) {
    this.boss = boss;
    this.timeout = start.timeout_ms;
    this.options = { expireInSeconds: start.lock.ttl_ms / 1000, retryLimit: 5, retryDelay: 0 };
  }

  async submit(name, job, dueMs) {
    await this.queue(name);
    const startAfter = new Date(Date.now() + dueMs);
    await within(this.timeout, this.boss.send(name, { job }, { ...this.options, startAfter }));
  }

  async take(name, waitMs) {
    await this.queue(name);
    const ends = performance.now() + waitMs;
    do {
      const [found] = await within(this.timeout, this.boss.fetch(name, { includeMetadata: true }));
      if (found) {
        this.ids.set(found.data.job, found.id);
        return { job: found.data.job, token: found.retryCount + 1 };
      }
      await new Promise((resolve) => setTimeout(resolve, POLL));
    } while (performance.now() < ends);
    throw new Failed("no job came in time");
  }

  async complete(name, job, failed) {
    const id = this.ids.get(job);
    if (!id) throw new Failed("this worker does not execute it");
    this.ids.delete(job);
    const ended = failed ? this.boss.fail(name, id) : this.boss.complete(name, id);
    const { affected } = await within(this.timeout, ended);
    if (!affected) throw new Failed("no active job has this id");
  }

  reconnect() {} // the library's pool connects again by itself

  async queue(name) {
    if (this.known.has(name)) return;
    await within(this.timeout, this.boss.createQueue(name, { name, policy: "standard" }));
    this.known.add(name);
  }
}

serve(async (start) => {
  const [host, port] = start.lock.endpoints[0].split(":");
  const login = { host, port: Number(port), user: "fencepost", database: "fencepost", password: start.lock.password || "fencepost" };
  const boss = new PgBoss({ ...login, maintenanceIntervalSeconds: 1 });
  boss.on("error", () => {}); // each call reports its own
  await boss.start();
  return new Boss(boss, start);
});
