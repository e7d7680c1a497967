// Package extender lets an HTTP server take part in decisions, in the words of
// Volcano's extenders: JSON by POST, one verb per question. It is a plugin that
// does I/O, so it lives at the edge and is registered by whoever wires the
// process. What was answered is recorded with what happened, and a replay takes it
// from there.
//
// The engine waits for every answer. So questions about nodes are put several at
// once, one question takes at most extender.httpTimeout, a cycle spends at most
// five times that on questions, and a server that does not answer at all is left
// alone for a while, 1 to 10 seconds. What then counts is extender.ignorable:
// true, the server has no opinion; false, gangs wait and say so.
//
// Differences to Volcano: onSessionOpen tells of nodes and queues, and jobs only
// come with jobEnqueueable; onSessionClose comes when the next cycle begins;
// what a node's verdict and score are is asked once per attempt to place a gang,
// and the verdict again for nodes that got one of its tasks. The answers of
// allocateFunc and deallocateFunc change nothing. JobReady is not asked, since a
// gang is placed whole or not at all; preemptable and reclaimable are not asked
// either: the server has no say in who gives way. Whoever gives these verbs is told so.
package extender

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"time"

	"github.com/muster-sh/muster/pkg/model"
	"github.com/muster-sh/muster/pkg/quota"
	"github.com/muster-sh/muster/pkg/reason"
	"github.com/muster-sh/muster/pkg/resource"
	"github.com/muster-sh/muster/pkg/scheduler/framework"
)

// Name is the plugin's name in a configuration.
const Name = "extender"

// How long a server that does not answer, or says no, is left alone: twice as
// long each time, between these.
const (
	leastWait = time.Second
	mostWait  = 10 * time.Second
)

// longestTimeout is the most that one question may take.
const longestTimeout = time.Minute

// slow is how many timeouts a cycle may spend on questions.
const slow = 5

var errSlow = errors.New("it took too long in this cycle")

// verbs are the parts of addresses; a question without one is not asked.
type verbs struct {
	open, close, predicate, prioritize, overused, enqueueable, allocate, deallocate string
}

type plugin struct {
	*client
	verbs
	ignorable bool
	managed   []string // resources; none: all tasks concern the server

	memory
	world       *model.World
	opened      bool
	now         time.Time     // when the cycle began
	spent       time.Duration // on questions in this cycle
	down        error         // why nothing is asked now
	wait        time.Duration // the last one
	retry       time.Time
	overusedNow map[quota.ID]verdict // asked in this cycle
	told        []placement          // that may yet be taken back
	gang        *model.Gang          // they are of
}

// verdict is an answer of yes or no.
type verdict struct {
	cause string // empty: yes
	err   error  // there was no answer
}

var (
	_ framework.Begins       = &plugin{}
	_ framework.AdmitsGangs  = &plugin{}
	_ framework.VotesOnGangs = &plugin{}
	_ framework.JudgesTasks  = &plugin{}
	_ framework.Retries      = &plugin{}
)

// New returns a maker of the plugin; when ctx ends, so do its questions.
// Arguments: extender.urlPrefix, the server's address; extender.httpTimeout (1s),
// a duration above 0, a minute at most; extender.onSessionOpenVerb, onSessionCloseVerb,
// predicateVerb, prioritizeVerb, queueOverusedVerb, jobEnqueueableVerb,
// allocateFuncVerb and deallocateFuncVerb, what is put behind the address;
// extender.ignorable (false); extender.managedResources, a list: only tasks that
// ask for one of them concern the server. The verbs jobReadyVerb, preemptableVerb
// and reclaimableVerb are known and not asked.
func New(ctx context.Context) framework.New {
	return func(args framework.Args, env framework.Env) (framework.Plugin, error) {
		r := args.Read()
		verb := func(name string) string { return r.Text("extender."+name+"Verb", "") }
		p := &plugin{
			ignorable: r.Bool("extender.ignorable", false),
			managed:   r.Resources("extender.managedResources"),
			verbs: verbs{
				open: verb("onSessionOpen"), close: verb("onSessionClose"), predicate: verb("predicate"),
				prioritize: verb("prioritize"), overused: verb("queueOverused"), enqueueable: verb("jobEnqueueable"),
				allocate: verb("allocateFunc"), deallocate: verb("deallocateFunc"),
			},
		}
		for _, name := range []string{"jobReady", "preemptable", "reclaimable"} {
			verb(name)
		}
		r.Idle(env, "extender.jobReadyVerb", "a gang is placed whole or not at all, so nobody is asked whether it is ready")
		for _, name := range []string{"preemptable", "reclaimable"} {
			r.Idle(env, "extender."+name+"Verb", "the server is not asked who gives way")
		}
		prefix := r.Text("extender.urlPrefix", "")
		u, err := url.Parse(prefix)
		if err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https") {
			r.Wrong("extender.urlPrefix", "give the server's address, such as http://127.0.0.1:8713")
		}
		timeout := r.Duration("extender.httpTimeout", time.Second)
		if timeout <= 0 || timeout > longestTimeout {
			r.Wrong("extender.httpTimeout", fmt.Sprintf("give a duration above 0, such as 100ms, and of at most %s: nothing is placed meanwhile", longestTimeout))
		}
		if err := r.Err(); err != nil {
			return nil, err
		}
		p.client = newClient(ctx, u, timeout)
		return p, nil
	}
}

func (*plugin) Name() string { return Name }

// Begin tells the server that a cycle begins, and that the one before has ended.
func (p *plugin) Begin(w *model.World, now time.Time) {
	if !p.retry.After(p.now) {
		p.wait = 0 // the last cycle heard no refusal
	}
	p.world, p.now, p.spent, p.heard = w, now, 0, nil
	p.overusedNow = map[quota.ID]verdict{}
	if !p.retry.After(now) {
		p.down = nil
	}
	p.settle(nil)
	if p.opened && p.verbs.close != "" {
		p.tell(p.verbs.close, struct{}{})
	}
	if p.verbs.open != "" {
		p.tell(p.verbs.open, facts{w}.session())
	}
	p.opened = true
}

// RetryAt is when a server that said no, or nothing, is asked again.
func (p *plugin) RetryAt() (time.Time, bool) { return p.retry, p.retry.After(p.now) }

// WakesOn is everything, since nobody knows what an answer depends on.
func (*plugin) WakesOn() model.Change {
	return model.NodeRoom | model.NodeChanged | model.QueueRoom | model.QueueChanged |
		model.GangChanged | model.TaskPlaced | model.ObjectChanged
}

// AdmitGang refuses gangs of queues that the server calls overused.
func (p *plugin) AdmitGang(g *model.Gang) (reason.Reason, bool) {
	if p.verbs.overused == "" {
		return reason.Reason{}, true
	}
	v, known := p.overusedNow[g.Queue.ID]
	if !known {
		var answer queueOverusedResponse
		v.err = p.ask(p.verbs.overused, &queueOverusedRequest{facts{p.world}.queue(g.Queue)}, &answer)
		if answer.Overused {
			v.cause = fmt.Sprintf("queue %q is overused", g.Queue.Name)
		}
		p.overusedNow[g.Queue.ID] = v
	}
	return p.word(p.verbs.overused, v)
}

// VoteOnGang passes on the server's vote.
func (p *plugin) VoteOnGang(g *model.Gang, need resource.Vector) (framework.Vote, reason.Reason) {
	if p.verbs.enqueueable == "" {
		return framework.Abstain, reason.Reason{}
	}
	var answer jobEnqueueableResponse
	v := verdict{err: p.ask(p.verbs.enqueueable, &jobEnqueueableRequest{facts{p.world}.job(g, need)}, &answer)}
	if v.err == nil && answer.Status > 0 {
		return framework.Permit, reason.Reason{}
	}
	if answer.Status < 0 {
		v.cause = "the gang may not go ahead yet"
	}
	if why, ok := p.word(p.verbs.enqueueable, v); !ok {
		return framework.Refuse, why
	}
	return framework.Abstain, reason.Reason{}
}

// word makes a refusal of a verdict, and sees to it that the question is put again.
func (p *plugin) word(verb string, v verdict) (reason.Reason, bool) {
	switch {
	case v.err != nil && p.ignorable:
		return reason.Reason{}, true
	case v.err != nil:
		p.later()
		return reason.Reason{Code: reason.ExtenderFailed, Object: p.shown(verb), Value: v.err.Error()}, false
	case v.cause != "":
		p.later()
		return reason.Reason{Code: reason.ExtenderRefused, Object: p.shown(verb), Value: v.cause}, false
	default:
		return reason.Reason{}, true
	}
}

// ask puts one question, unless asking is in vain.
func (p *plugin) ask(verb string, question, answer any) error {
	if p.down != nil {
		return p.down
	}
	x := p.put(1, func(int) (json.RawMessage, error) { return p.post(verb, question, answer != nil) })
	err := x.Answers[0].read(answer)
	p.account(x.Took, err)
	return err
}

// tell puts a question whose answer changes nothing.
func (p *plugin) tell(verb string, question any) {
	if err := p.ask(verb, question, nil); err != nil && !p.ignorable {
		p.later()
	}
}

// account notes what questions took and whether more of them are in vain.
func (p *plugin) account(took time.Duration, err error) {
	p.spent += took
	if _, gone := errors.AsType[*unreachableError](err); gone {
		p.down = err
	} else if p.spent > slow*p.timeout {
		p.down = errSlow
	}
	if p.down != nil {
		p.later()
	}
}

// later sees to it that the server is asked again after a while.
func (p *plugin) later() {
	if !p.retry.After(p.now) {
		p.wait = min(max(2*p.wait, leastWait), mostWait)
		p.retry = p.now.Add(p.spent + p.wait)
	}
}
