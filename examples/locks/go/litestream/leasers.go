package main

import (
	"log/slog"
	"net/http"
	"time"

	. "example.com/locks/protocol"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	client "github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/benbjohnson/litestream/s3"
)

const bucket, key = "fencepost", "fencepost" // Fencepost's own server has this bucket and takes this key

// leasers share a client that sends each request once, and through no proxy.
func leasers(start Request) func(resource, owner string) *s3.Leaser {
	timeout := time.Duration(start.Timeout_ms) * time.Millisecond
	shared := client.New(client.Options{
		BaseEndpoint: aws.String("http://" + start.Lock.Endpoints[0]), UsePathStyle: true, Region: "us-east-1",
		Credentials:      credentials.NewStaticCredentialsProvider(key, key, ""),
		HTTPClient:       &http.Client{Timeout: timeout, Transport: &http.Transport{}},
		RetryMaxAttempts: 1,
	})
	return func(resource, owner string) *s3.Leaser {
		leaser := s3.NewLeaser()
		leaser.SetLogger(slog.New(slog.DiscardHandler))
		leaser.SetClient(shared)
		leaser.Bucket, leaser.Path, leaser.Owner = bucket, "lock/"+resource, owner
		leaser.TTL = time.Duration(start.Lock.TTL_ms) * time.Millisecond
		return leaser
	}
}
