package protocol

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"golang.org/x/sys/unix"
)

const retry = 20 * time.Millisecond

// FailedIf marks an error as ErrFailed if it is certain that the request had no effect.
func FailedIf(certain bool, err error) error {
	if certain {
		return fmt.Errorf("%w: %w", ErrFailed, err)
	}
	return err
}

// Within makes a call that has no deadline of its own; it may go on after the context has ended.
func Within(ctx context.Context, call func() error) error {
	done := make(chan error, 1)
	go func() { done <- call() }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// UntilGranted repeats attempt until it returns true, and returns when that one was sent, which the retries of a
// library would hide: in nanoseconds of CLOCK_MONOTONIC, which package time does not show.
func UntilGranted(wait time.Duration, attempt func() (bool, error)) (int64, error) {
	for ends := time.Now().Add(wait); ; time.Sleep(retry) {
		var sent unix.Timespec
		unix.ClockGettime(unix.CLOCK_MONOTONIC, &sent)
		if granted, err := attempt(); granted || err != nil {
			return sent.Nano(), err
		}
		if time.Now().Add(retry).After(ends) {
			return 0, FailedIf(true, errors.New("not free in time"))
		}
	}
}

// Version returns the version of a module that this program was built with.
func Version(module string) string {
	info, _ := debug.ReadBuildInfo()
	for _, each := range info.Deps {
		if each.Path == module {
			return each.Version
		}
	}
	return ""
}
