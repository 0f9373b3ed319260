// Package redisserver connects to a Redis server with a deadline for every call and without retries.
package redisserver

import (
	"time"

	"example.com/locks/protocol"
	"github.com/redis/go-redis/v9"
)

// Connect returns a client, which connects with its first call and drops a connection after an error.
func Connect(start protocol.Request) *redis.Client {
	timeout := time.Duration(start.Timeout_ms) * time.Millisecond
	return redis.NewClient(&redis.Options{
		Addr: start.Lock.Endpoints[0], Password: start.Lock.Password, MaxRetries: -1,
		DialTimeout: timeout, ReadTimeout: timeout, WriteTimeout: timeout, ContextTimeoutEnabled: true,
	})
}
