package meter

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/muster-sh/muster/pkg/reason"
	"github.com/muster-sh/muster/pkg/scheduler/framework"
)

// Cluster is the API server, for sources that are asked through it.
type Cluster struct {
	Client  *http.Client // with its credentials
	Address string
}

// source makes the source that metrics are read from.
func (c Cluster) source(from framework.Metrics) (source, error) {
	switch from.Type {
	case "prometheus":
		return newPrometheus(from)
	case "prometheus_adaptor":
		return adaptor{c}, nil
	case "elasticsearch":
		return elastic{from, &http.Client{Transport: bounded{transport(from)}}}, nil
	default:
		return nil, fmt.Errorf("metrics of type %q can't be read", from.Type)
	}
}

func transport(from framework.Metrics) http.RoundTripper {
	t := &http.Transport{Proxy: http.ProxyFromEnvironment}
	if from.Insecure {
		t.TLSClientConfig = &tls.Config{InsecureSkipVerify: true} //nolint:gosec // the configuration says so
	}
	return t
}

// bounded cuts answers that are too long.
type bounded struct{ next http.RoundTripper }

func (b bounded) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := b.next.RoundTrip(r)
	if err == nil {
		resp.Body = cut{io.LimitReader(resp.Body, mostBytes), resp.Body}
	}
	return resp, err
}

type cut struct {
	io.Reader
	io.Closer
}

// fetch carries out a request and reads its answer.
func fetch(client *http.Client, req *http.Request, answer any) error {
	resp, err := client.Do(req)
	if err != nil {
		return plain(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(io.LimitReader(resp.Body, mostBytes))
	if err != nil {
		return plain(err)
	}
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("it answers %s: %s", resp.Status, short(string(text)))
	}
	if err := json.Unmarshal(text, answer); err != nil {
		return fmt.Errorf("its answer is not what was asked for: %w", err)
	}
	return nil
}

// plain takes the address, which may hold a password, off an error, and words the one
// that comes most often.
func plain(err error) error {
	if errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("no answer within %v", timeout)
	}
	if outer, ok := errors.AsType[*url.Error](err); ok {
		return outer.Err
	}
	return err
}

// shown is an address without a password.
func shown(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return "its address"
	}
	return u.Redacted()
}

// short cuts a text to what fits into a sentence.
func short(text string) string {
	return reason.Clip(strings.Join(strings.Fields(text), " "), 120)
}
