// The connection to a Redis server, with a deadline for every call. It is made again when it breaks, but no
// request is sent again.

import { Redis } from "ioredis";

/** Return a client of one server; `start` is the first request. */
export function connect(endpoint, start) {
  const [host, port] = endpoint.split(":");
  const once = { retryStrategy: () => 50, maxRetriesPerRequest: 0, autoResendUnfulfilledCommands: false };
  const deadlines = { commandTimeout: start.timeout_ms, connectTimeout: start.timeout_ms };
  const { password } = start.lock;
  const redis = new Redis({ host, port: Number(port), password, ...once, ...deadlines });
  redis.on("error", () => {}); // each call reports its own
  return redis;
}
