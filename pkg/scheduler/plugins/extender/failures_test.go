package extender_test

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/muster-sh/muster/pkg/model"
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

// opinion is what the plugin comes to where it asks with that verb.
func opinion(p abilities, n *model.Node, g *model.Gang, verb string) (string, bool) {
	switch verb {
	case "jobEnqueueable":
		vote, why := p.VoteOnGang(g, nil)
		return why.String(), vote != framework.Refuse
	case "queueOverused":
		why, ok := p.AdmitGang(g)
		return why.String(), ok
	}
	j, why, ok := p.Judge(g.Tasks[0])
	if !ok {
		return why.String(), false
	}
	return j.Fits(n)
}

func TestFailuresAreSaidOrIgnored(t *testing.T) {
	for name, tt := range map[string]struct {
		answer http.HandlerFunc
		want   string
	}{
		"no answer in time":      {hang, "no answer within 20ms"},
		"an error of the server": {func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "out\nof  order", 500) }, "it answers 500 Internal Server Error: out of order"},
		"an unknown verb":        {nil, "it answers 404 Not Found"},
		"garbage":                {say(`<html>`), "its answer is not what was asked for: invalid character"},
		"nothing":                {say(``), "its answer is not what was asked for: unexpected end"},
		"another type":           {say(`[]`), "its answer is not what was asked for: json: cannot unmarshal array"},
		"an answer without end":  {say(`{"x": "` + strings.Repeat("x", 10<<20) + `"}`), "its answer is longer than 10 MiB"},
		"half an answer":         {cut, "unexpected EOF"},
		"an answer that points away": {func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "ftp://x", http.StatusTemporaryRedirect)
		}, "unsupported protocol"},
	} {
		t.Run(name, func(t *testing.T) {
			w, g := world()
			s := serve(t, map[string]http.HandlerFunc{"x": tt.answer})
			timeout := "1m"
			if name == "no answer in time" {
				timeout = "20ms"
			}
			for _, verb := range []string{"jobEnqueueable", "queueOverused", "prioritize", "predicate"} {
				for _, ignorable := range []bool{true, false} {
					p := build(t, s, w, framework.Args{verb + "Verb": "x", "ignorable": ignorable, "httpTimeout": timeout})
					for _, asked := range []string{"jobEnqueueable", "queueOverused", verb} {
						text, ok := opinion(p, w.NodeNamed("n1"), g, asked)
						switch {
						case ok != (ignorable || verb != asked):
							t.Errorf("%s, ignorable %t: %s goes well: %t", verb, ignorable, asked, ok)
						case !ok && !strings.Contains(text, "can't be asked: "+tt.want):
							t.Errorf("%s: %s, want %s", verb, text, tt.want)
						}
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
	able := build(t, serve(t, nil), w, framework.Args{"urlPrefix": "http://me:secret@127.0.0.1:1/base/", "jobEnqueueableVerb": "/v"})
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
