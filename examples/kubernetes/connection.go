package main

import (
	"context"
	"errors"
	"log"
	"net/http"
	"net/url"
	"runtime/debug"
	"time"

	"golang.org/x/sys/unix"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/kubernetes"
	coordination "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/metrics"
)

// connect makes a client of the API server that Fencepost has started, or of the cluster of a kubeconfig file.
func connect(endpoints []string, token, kubeconfig string, timeout time.Duration) (coordination.CoordinationV1Interface, error) {
	config, err := &rest.Config{}, error(nil)
	if kubeconfig != "" {
		config, err = clientcmd.BuildConfigFromFlags("", kubeconfig)
	} else if len(endpoints) == 1 {
		config.Host = "https://" + endpoints[0]
		config.BearerToken = token
		config.Insecure = true // it makes its certificate itself, and listens on this machine only
	} else {
		err = failed(`no cluster: [lock] kind = "kubernetes", or the argument kubeconfig=FILE`)
	}
	if err != nil {
		return nil, err
	}
	metrics.Register(metrics.RegisterOpts{RateLimiterLatency: waits{}, RequestRetry: waits{}})
	config.Timeout = timeout
	config.QPS, config.Burst = 20, 30 // as Kubernetes' own controllers; client-go's defaults are 5 and 10
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return transport{next} })
	set, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	return set.CoordinationV1(), nil
}

// tries are the requests of one call: client-go waits for its rate limiter, and may repeat a request.
type tries struct {
	count int
	sent  int64 // CLOCK_MONOTONIC in ns, of the last one
}

type ofCall struct{}

// counted returns a context whose requests are counted.
func counted(ctx context.Context) (context.Context, *tries) {
	made := &tries{}
	return context.WithValue(ctx, ofCall{}, made), made
}

// outcome marks the error of a call as failed if it certainly had no effect: of a repeated one, an earlier may have.
func (t *tries) outcome(err error) error {
	var said *apierrors.StatusError
	refused := errors.As(err, &said) && said.Status().Code < 500 && said.Status().Code != http.StatusRequestTimeout
	if err != nil && (t.count == 0 || t.count == 1 && refused) {
		return failed("%v", err)
	}
	return err
}

type transport struct{ next http.RoundTripper }

func (t transport) RoundTrip(request *http.Request) (*http.Response, error) {
	if made, is := request.Context().Value(ofCall{}).(*tries); is {
		made.count, made.sent = made.count+1, monotonic()
	}
	return t.next.RoundTrip(request)
}

const limited = 20 * time.Millisecond // within a shorter time, its rate limiter lets a request through at once

// waits says on standard error when client-go's own metrics count a request that waited, or that is repeated.
type waits struct{}

func (waits) Observe(_ context.Context, verb string, at url.URL, latency time.Duration) {
	if latency > limited {
		log.Printf("client-go's rate limiter held %s %s back for %v", verb, at.Path, latency)
	}
}

func (waits) IncrementRetry(_ context.Context, code, method, _ string) {
	log.Printf("client-go repeats a %s after %s", method, code)
}

// monotonic returns CLOCK_MONOTONIC in ns, which Go's own clock does not show.
func monotonic() int64 {
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &now); err != nil {
		panic(err)
	}
	return now.Nano()
}

func versions() fields {
	info, _ := debug.ReadBuildInfo()
	for _, each := range info.Deps {
		if each.Path == "k8s.io/client-go" {
			return fields{"client-go": each.Version}
		}
	}
	return fields{}
}
