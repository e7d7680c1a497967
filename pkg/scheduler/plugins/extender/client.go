package extender

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/muster-sh/muster/pkg/reason"
)

// maxAnswer is how many bytes an answer may have.
const maxAnswer = 10 << 20

// asked is how many questions are open at once.
const asked = 16

// client asks one HTTP server. Its methods may be used by several goroutines.
type client struct {
	ctx     context.Context
	http    *http.Client
	server  *url.URL
	timeout time.Duration
}

func newClient(ctx context.Context, server *url.URL, timeout time.Duration) *client {
	transport := &http.Transport{
		Proxy:               http.ProxyFromEnvironment,
		MaxIdleConnsPerHost: asked,
		IdleConnTimeout:     90 * time.Second,
	}
	return &client{ctx, &http.Client{Transport: transport}, server, timeout}
}

func (c *client) url(verb string) *url.URL { return c.server.JoinPath(verb) }

// shown is the address of a verb as users may see it, without a password.
func (c *client) shown(verb string) string { return c.url(verb).Redacted() }

// unreachableError says that a server did not answer at all.
type unreachableError struct{ cause error }

func (e *unreachableError) Error() string { return e.cause.Error() }
func (e *unreachableError) Unwrap() error { return e.cause }

// post puts a question and reads the answer, if one is wanted. It takes at most
// the client's timeout. An [unreachableError] means that asking on is in vain.
func (c *client) post(verb string, question any, wanted bool) (json.RawMessage, error) {
	body, err := json.Marshal(question)
	if err != nil {
		return nil, fmt.Errorf("write the question: %w", err)
	}
	ctx, cancel := context.WithTimeout(c.ctx, c.timeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.url(verb).String(), bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := c.http.Do(req)
	if err != nil {
		return nil, c.unreachable(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer+1))
	if err != nil {
		return nil, c.unreachable(err)
	}
	switch {
	case resp.StatusCode != http.StatusOK:
		return nil, fmt.Errorf("it answers %s: %s", resp.Status, short(string(text)))
	case len(text) > maxAnswer:
		return nil, fmt.Errorf("its answer is longer than %d MiB", maxAnswer>>20)
	case !wanted:
		return nil, nil
	}
	var answer json.RawMessage
	if err := json.Unmarshal(text, &answer); err != nil {
		return nil, unexpected(err)
	}
	return answer, nil
}

func unexpected(err error) error { return fmt.Errorf("its answer is not what was asked for: %w", err) }

// unreachable words what kept an answer from coming, the same way each time.
func (c *client) unreachable(err error) error {
	if errors.Is(err, context.DeadlineExceeded) {
		err = fmt.Errorf("no answer within %v", c.timeout)
	} else if outer, ok := errors.AsType[*url.Error](err); ok {
		err = outer.Err // the address is told beside it
	}
	return &unreachableError{err}
}

// short cuts a text to what fits into a sentence.
func short(text string) string {
	return reason.Clip(strings.Join(strings.Fields(text), " "), 120)
}
