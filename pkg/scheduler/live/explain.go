package live

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"unicode"

	"github.com/muster-sh/muster/pkg/model"
	"github.com/muster-sh/muster/pkg/reason"
	"github.com/muster-sh/muster/pkg/scheduler/engine"
)

// ExplainPath is where [Scheduler.Explain] is served; NAMESPACE/PODGROUP follows.
const ExplainPath = "/debug/explain/"

// question asks the owner of the engine how a gang stands.
type question struct {
	gang   string
	answer chan<- standing // has room for one
}

// standing is how a gang stands after a cycle.
type standing struct {
	known  bool
	status engine.Status
	why    *reason.Reason // nil: it does not wait
}

// answer answers one question. Only the loop may call it.
func (s *Scheduler) answer(q question) {
	var at standing
	at.status, at.known = s.engine.StatusOf(q.gang)
	if at.known {
		if why, waits := s.engine.Explain(q.gang); waits {
			at.why = &why
		}
		if s.record != nil {
			s.record.Asked(q.gang)
		}
	}
	q.answer <- at
}

// ask puts a question into the loop, and waits for the answer until ctx ends.
func (s *Scheduler) ask(ctx context.Context, gang string) (standing, error) {
	if err := s.Ready(nil); err != nil {
		return standing{}, err
	}
	answer := make(chan standing, 1)
	select {
	case s.questions <- question{gang, answer}:
	case <-s.ended:
		return standing{}, errors.New("scheduler: it is ending")
	case <-ctx.Done():
		return standing{}, fmt.Errorf("scheduler: ask for PodGroup %q: %w", gang, ctx.Err())
	}
	select {
	case at := <-answer:
		return at, nil
	case <-s.ended:
		return standing{}, errors.New("scheduler: it is ending")
	case <-ctx.Done():
		return standing{}, fmt.Errorf("scheduler: ask for PodGroup %q: %w", gang, ctx.Err())
	}
}

// Explain serves how a PodGroup stands as things are now, and why it waits if it
// does, under [ExplainPath] NAMESPACE/PODGROUP, to GET and HEAD. It is text, or JSON
// with ?format=json or when the client accepts that.
func (s *Scheduler) Explain(w http.ResponseWriter, r *http.Request) {
	header := w.Header()
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		header.Set("Allow", "GET, HEAD")
		http.Error(w, fmt.Sprintf("method %q can't explain: use GET", clip(r.Method)), http.StatusMethodNotAllowed)
		return
	}
	asJSON := strings.Contains(r.Header.Get("Accept"), "application/json")
	if q := r.URL.Query(); q.Has("format") {
		format := q.Get("format")
		if asJSON = format == "json"; !asJSON && format != "text" {
			http.Error(w, fmt.Sprintf("format %q is unknown: give json or text", clip(format)), http.StatusBadRequest)
			return
		}
	}
	gang := strings.TrimPrefix(r.URL.Path, ExplainPath)
	at, err := s.ask(r.Context(), gang)
	switch {
	case err != nil:
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
		return
	case !at.known:
		http.Error(w, fmt.Sprintf("PodGroup %q is not known here; it is to be NAMESPACE/NAME of one that `kubectl get podgroups --all-namespaces` lists", clip(gang)), http.StatusNotFound)
		return
	}
	header.Set("Cache-Control", "no-store")
	header.Set("X-Content-Type-Options", "nosniff")
	if !asJSON {
		header.Set("Content-Type", "text/plain; charset=utf-8")
		_, _ = fmt.Fprintln(w, plain("PodGroup "+gang+" "+at.String()))
		return
	}
	header.Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(at.wire(gang))
}

// wire is a standing as JSON: the fields of the reason are beside the others.
func (at *standing) wire(gang string) any {
	text := at.String()
	if at.why != nil {
		text = at.why.String()
	}
	n := at.status
	return struct {
		Gang    string      `json:"gang"`
		Text    string      `json:"text"`
		Waits   bool        `json:"waits"`
		Phase   model.Phase `json:"phase"`
		Min     int32       `json:"min"`
		Held    int32       `json:"held"`
		Running int32       `json:"running"`
		Waiting int32       `json:"waiting"`
		*reason.Reason
	}{gang, text, at.why != nil, n.Phase, n.Min, n.Held, n.Running, n.Waiting, at.why}
}

// String says how a gang stands, in words that follow its name.
func (at *standing) String() string {
	n, placed := at.status, ""
	if n.Whole {
		placed = fmt.Sprintf("is placed: %d tasks have a node or are done, it needs %d, %d run", n.Held, n.Min, n.Running)
	}
	switch {
	case at.why == nil && (n.Phase == model.Completed || n.Phase == model.GangLost):
		return fmt.Sprintf("has ended and is %s: %d tasks succeeded, %d failed", n.Phase, n.Succeeded, n.Failed)
	case at.why == nil && n.Whole:
		return placed
	case at.why == nil:
		return fmt.Sprintf("is %s and has no reason to wait: it is tried when its turn comes", n.Phase)
	case n.Whole:
		return fmt.Sprintf("%s; %d more wait, %s: %s", placed, n.Waiting, at.why.Code, at.why)
	default:
		return fmt.Sprintf("waits, %s: %s", at.why.Code, at.why)
	}
}

// plain writes control characters, which texts of users may hold, as Go does.
func plain(text string) string {
	var out strings.Builder
	for _, r := range text {
		if unicode.IsPrint(r) {
			out.WriteRune(r)
		} else {
			quoted := strconv.QuoteRuneToASCII(r)
			out.WriteString(quoted[1 : len(quoted)-1])
		}
	}
	return out.String()
}
