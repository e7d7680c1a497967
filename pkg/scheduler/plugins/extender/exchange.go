package extender

import (
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/muster-sh/muster/pkg/scheduler/framework"
)

// exchange is questions that were put at once, what came of them, and how long that
// took: all that a replay must know in order not to ask.
type exchange struct {
	Took    time.Duration `json:"took"`
	Answers []answer      `json:"answers"`
}

// answer is what came of one question.
type answer struct {
	Body json.RawMessage `json:"body,omitempty"`
	Err  string          `json:"err,omitempty"`
	Gone bool            `json:"gone,omitempty"` // nobody answered
	Slow bool            `json:"slow,omitempty"` // it was not put, others took too long
}

func answerOf(body json.RawMessage, err error) answer {
	if err == nil {
		return answer{Body: body}
	}
	_, gone := errors.AsType[*unreachableError](err)
	return answer{Err: err.Error(), Gone: gone, Slow: errors.Is(err, errSlow)}
}

// read reads an answer into what was asked for, if it is not nil.
func (a answer) read(into any) error {
	switch {
	case a.Slow:
		return errSlow
	case a.Gone:
		return &unreachableError{errors.New(a.Err)}
	case a.Err != "":
		return errors.New(a.Err)
	case into == nil:
		return nil
	}
	if err := json.Unmarshal(a.Body, into); err != nil {
		return unexpected(err)
	}
	return nil
}

// memory is what was answered in this cycle, or, in a replay, what is to be taken for it.
type memory struct {
	heard    []exchange
	recalled bool
	next     []exchange
	missing  bool // something was asked that the recording does not hold
}

var _ framework.AsksOutside = &plugin{}

// errForgotten is what a replay hears where the recording holds no answer.
var errForgotten = errors.New("it asks its server what was not asked when this was recorded; the recording holds no answer")

// Heard implements [framework.AsksOutside].
func (m *memory) Heard() (json.RawMessage, error) {
	switch {
	case m.missing:
		return nil, errForgotten
	case len(m.heard) == 0:
		return nil, nil
	}
	return json.Marshal(m.heard)
}

// Recall implements [framework.AsksOutside].
func (m *memory) Recall(heard json.RawMessage) error {
	m.recalled, m.next = true, nil
	if heard == nil {
		return nil
	}
	if err := json.Unmarshal(heard, &m.next); err != nil {
		return fmt.Errorf("what its server answered: %w", err)
	}
	return nil
}

// recall is what came of n questions when they were recorded.
func (m *memory) recall(n int) exchange {
	if len(m.next) > 0 && len(m.next[0].Answers) == n {
		x := m.next[0]
		m.next = m.next[1:]
		return x
	}
	m.missing = true
	x := exchange{Answers: make([]answer, n)}
	for i := range x.Answers {
		x.Answers[i] = answerOf(nil, errForgotten)
	}
	return x
}

// put puts n questions, several at once, until nobody answers or they take too long.
// Those that come then are not put.
func (p *plugin) put(n int, post func(i int) (json.RawMessage, error)) exchange {
	if p.recalled {
		return p.recall(n)
	}
	x, start := exchange{Answers: make([]answer, n)}, time.Now()
	var workers sync.WaitGroup
	var next, stopped atomic.Int64
	for range min(asked, n) {
		workers.Go(func() {
			for i := next.Add(1) - 1; i < int64(n); i = next.Add(1) - 1 {
				if stopped.Load() > 0 || p.spent+time.Since(start) > slow*p.timeout {
					x.Answers[i] = answerOf(nil, errSlow)
					continue
				}
				x.Answers[i] = answerOf(post(int(i)))
				if x.Answers[i].Gone {
					stopped.Add(1)
				}
			}
		})
	}
	workers.Wait()
	x.Took = time.Since(start)
	p.heard = append(p.heard, x)
	return x
}
