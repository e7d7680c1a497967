package extender_test

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/muster-sh/muster/pkg/reason"
	"github.com/muster-sh/muster/pkg/scheduler/framework"
	"github.com/muster-sh/muster/pkg/scheduler/plugins/extender"
)

// hang answers nothing until who asks gives up.
func hang(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }

// cut ends the connection in the middle of an answer.
func cut(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Length", "100")
	say(`{"status`)(w, nil)
}

func TestFailuresAreSaidOrIgnored(t *testing.T) {
	for name, tt := range map[string]struct {
		answer http.HandlerFunc
		want   string
	}{
		"no answer in time":          {hang, "no answer within 20ms"},
		"an error of the server":     {func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "out\nof  order", 500) }, "it answers 500 Internal Server Error: out of order"},
		"an unknown verb":            {nil, "it answers 404 Not Found"},
		"garbage":                    {say(`<html>`), "its answer is not what was asked for: invalid character"},
		"nothing":                    {say(``), "its answer is not what was asked for: unexpected end"},
		"another type":               {say(`[]`), "its answer is not what was asked for: json: cannot unmarshal array"},
		"an answer without end":      {say(`{"x": "` + strings.Repeat("x", 10<<20) + `"}`), "its answer is longer than 10 MiB"},
		"half an answer":             {cut, "unexpected EOF"},
		"an answer that points away": {func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "ftp://x", 307) }, "unsupported protocol"},
	} {
		t.Run(name, func(t *testing.T) {
			w, g := world()
			s := serve(t, map[string]http.HandlerFunc{"x": tt.answer})
			timeout := "1m"
			if name == "no answer in time" {
				timeout = "20ms"
			}
			said := func(what string, why reason.Reason) {
				t.Helper()
				if why.Code != reason.ExtenderFailed || !strings.HasPrefix(why.Value, tt.want) || why.Object != s.URL+"/x" {
					t.Errorf("%s: %+v, want one with %s", what, why, tt.want)
				}
			}
			for _, verb := range []string{"jobEnqueueable", "queueOverused", "prioritize", "predicate"} {
				for _, ignorable := range []bool{true, false} {
					p := build(t, s, w, framework.Args{verb + "Verb": "x", "ignorable": ignorable, "httpTimeout": timeout})
					vote, why := p.VoteOnGang(g, nil)
					if refused := vote == framework.Refuse; refused == (ignorable || verb != "jobEnqueueable") {
						t.Errorf("%s, ignorable %t: vote %d", verb, ignorable, vote)
					} else if refused {
						said(verb, why)
					}
					if why, ok := p.AdmitGang(g); ok != (ignorable || verb != "queueOverused") {
						t.Errorf("%s, ignorable %t: admitted %t", verb, ignorable, ok)
					} else if !ok {
						said(verb, why)
					}
					if p.Kind(g.Tasks[0]) == "" {
						continue
					}
					j, why, ok := p.Judge(g.Tasks[0])
					if !ok {
						if said(verb, why); ignorable {
							t.Errorf("%s refuses though it is ignorable", verb)
						}
						continue
					}
					cause, fits := j.Fits(w.NodeNamed("n1"))
					if fits != ignorable || (!fits && !strings.HasPrefix(cause, "extender can't be asked: "+tt.want)) {
						t.Errorf("%s, ignorable %t: fits %t, %q", verb, ignorable, fits, cause)
					}
				}
			}
		})
	}
}

func TestAServerThatDoesNotAnswerIsLeftAloneForAWhile(t *testing.T) {
	w, g := world()
	s := serve(t, map[string]http.HandlerFunc{"p": hang, "v": say(`{"status": 1}`)})
	p := build(t, s, w, framework.Args{"predicateVerb": "p", "jobEnqueueableVerb": "v", "httpTimeout": "50ms"})
	at := start
	waits := []time.Duration{1, 2, 4, 8, 10, 10}
	for i, wait := range waits {
		if _, why, ok := p.Judge(g.Tasks[0]); ok || why.Code != reason.ExtenderFailed {
			t.Fatalf("round %d: %v", i, why)
		}
		before := len(s.verbs())
		p.Judge(g.Tasks[0])
		p.VoteOnGang(g, nil)
		p.Begin(w, at.Add(time.Millisecond))
		p.Judge(g.Tasks[0])
		if after := len(s.verbs()); after != before {
			t.Fatalf("round %d: asked %d times while it is left alone", i, after-before)
		}
		next, ok := p.RetryAt()
		if left := next.Sub(at); !ok || left < wait*time.Second || left > (wait+5)*time.Second {
			t.Fatalf("round %d: tried again after %v (%t), want %v s and what the question took", i, left, ok, int64(wait))
		}
		at = next
		p.Begin(w, at)
	}
	if vote, why := p.VoteOnGang(g, nil); vote != framework.Permit {
		t.Errorf("when it answers again its vote is %d: %s", vote, why)
	}
}

func TestAServerThatIsGoneIsNamedWithoutItsPassword(t *testing.T) {
	w, g := world()
	p, err := extender.New(t.Context())(framework.Args{
		"extender.urlPrefix": "http://me:secret@127.0.0.1:1/base/", "extender.jobEnqueueableVerb": "/v",
	}, framework.Env{Dim: w.Resources.Dim})
	if err != nil {
		t.Fatal(err)
	}
	able, ok := p.(abilities)
	if !ok {
		t.Fatal("extender lacks abilities")
	}
	able.Begin(w, start)
	_, why := able.VoteOnGang(g, nil)
	if why.Object != "http://me:xxxxx@127.0.0.1:1/base/v" || !strings.Contains(why.Value, "connection refused") {
		t.Errorf("%+v", why)
	}
}

func TestItAsksNothingAfterTheEnd(t *testing.T) {
	w, g := world()
	s := serve(t, map[string]http.HandlerFunc{"v": say(`{"status": 1}`)})
	ctx, cancel := context.WithCancel(t.Context())
	p, err := extender.New(ctx)(framework.Args{"extender.urlPrefix": s.URL, "extender.jobEnqueueableVerb": "v"}, framework.Env{})
	if err != nil {
		t.Fatal(err)
	}
	able, ok := p.(abilities)
	if !ok {
		t.Fatal("extender lacks abilities")
	}
	able.Begin(w, start)
	cancel()
	if vote, why := able.VoteOnGang(g, nil); vote != framework.Refuse || why.Value != "context canceled" {
		t.Errorf("vote %d: %+v", vote, why)
	}
}

func TestConnectionsAreUsedAgain(t *testing.T) {
	w, g := world()
	addresses := map[string]bool{}
	s := serve(t, map[string]http.HandlerFunc{"v": func(w http.ResponseWriter, r *http.Request) {
		addresses[r.RemoteAddr] = true
		say(`{"status": 1}`)(w, r)
	}})
	p := build(t, s, w, framework.Args{"jobEnqueueableVerb": "v"})
	for range 5 {
		p.VoteOnGang(g, nil)
	}
	if len(addresses) != 1 {
		t.Errorf("five questions over %d connections", len(addresses))
	}
}
