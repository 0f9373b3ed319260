package main

import (
	"context"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	"golang.org/x/sys/unix"
)

// connect makes a client that replaces a silent connection by itself.
func connect(endpoints []string, timeout time.Duration) *clientv3.Client {
	client, err := clientv3.New(clientv3.Config{
		Endpoints:            endpoints,
		DialTimeout:          timeout,
		DialKeepAliveTime:    timeout,
		DialKeepAliveTimeout: timeout,
		Logger:               zap.NewNop(),
	})
	if err != nil {
		panic(err)
	}
	return client
}

func within(limit time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.Background(), limit)
}

// monotonic returns CLOCK_MONOTONIC in ns, which Go's own clock does not show.
func monotonic() int64 {
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &now); err != nil {
		panic(err)
	}
	return now.Nano()
}
