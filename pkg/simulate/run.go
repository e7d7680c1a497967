package simulate

import (
	"container/heap"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/muster-sh/muster/pkg/model"
	"github.com/muster-sh/muster/pkg/resource"
	"github.com/muster-sh/muster/pkg/scheduler/engine"
)

// Bounds that keep a simulation from going on for ever.
const (
	passesAtOnce = 100       // runs of the engine at one instant
	idlePasses   = 1000      // runs while nothing runs and nothing is to arrive
	idleFor      = 3_600_000 // milliseconds of that
	futilePasses = 1000      // runs with evictions, while no job ends and none arrives
	tellEvery    = 64        // runs between words of progress
)

// run is a simulation under way. Times are in milliseconds since the start.
type run struct {
	options Options
	trace   *Trace
	engine  *engine.Engine
	now     int64
	jobs    []*job
	pods    map[string]pod // by UID, those that the engine knows
	ends    ends
	arrived int   // jobs
	ended   int   // jobs
	running int   // pods
	worked  int64 // until when pods ran
	books   books
	hurt    []*job // that lost pods in this pass
	passes  int
	futile  int   // passes with evictions since a job ended or arrived
	idle    int   // passes since nothing was to happen any more
	idleAt  int64 // when that began
	notes   notes
}

// pod names one pod of a job.
type pod struct {
	job    *job
	number int
}

// Run simulates a trace that was checked.
func Run(t *Trace, o Options) (*Result, error) {
	if o.Resource = resourceName(o.Resource); o.Resource == "" {
		o.Resource = GPU
	}
	if resource.Bytes(o.Resource) {
		return nil, fmt.Errorf("resource %s is counted in bytes: count one that comes in pieces, or cpu", o.Resource)
	}
	if err := t.counts(o.Resource); err != nil {
		return nil, err
	}
	o.Config.RetellAfter = -1 // nobody reads what is told meanwhile
	e, err := engine.New(o.Config, o.Registry)
	if err != nil {
		return nil, fmt.Errorf("configuration %s: %w", o.Name, err)
	}
	r := &run{options: o, trace: t, engine: e, pods: map[string]pod{}, books: open(t, o.Resource)}
	if r.books.total > mostCounted {
		return nil, fmt.Errorf("the cluster has %d of resource %s, and figures are sums over time: give its nodes at most %d in all", r.books.total, o.Resource, int64(mostCounted))
	}
	r.notes.said = slices.Clone(o.Config.Idle)
	for _, n := range t.Nodes {
		e.Apply(engine.NodeSet{Node: n})
	}
	for _, q := range t.Queues {
		e.Apply(engine.QueueSet{Queue: q})
	}
	for i := range t.Jobs {
		r.jobs = append(r.jobs, newJob(&t.Jobs[i], o.Resource, r.books.index[t.Jobs[i].Queue]))
	}
	if err := r.all(); err != nil {
		return nil, fmt.Errorf("configuration %s: %w", o.Name, err)
	}
	return r.result(), nil
}

// all goes from instant to instant until nothing more can happen.
func (r *run) all() error {
	for {
		at, ok := r.next()
		if !ok {
			r.books.close(r.now)
			return r.tell()
		}
		r.now = at
		r.books.advance(at)
		r.end()
		r.arrive()
		if err := r.decide(); err != nil {
			return err
		}
	}
}

// next returns the next instant at which something happens; false when nothing does.
func (r *run) next() (int64, bool) {
	var at int64
	var ok bool
	if r.arrived < len(r.jobs) {
		at, ok = r.jobs[r.arrived].submit, true
	}
	if len(r.ends) > 0 && (!ok || r.ends[0].at < at) {
		at, ok = r.ends[0].at, true
	}
	if r.arrived == r.ended {
		return at, ok // nobody waits for time to pass
	}
	alarm, set := r.alarm()
	if ok {
		r.idle = 0
		if set && alarm < at {
			at = alarm
		}
		return max(at, r.now), true
	}
	if r.idle++; r.idle == 1 {
		r.idleAt = r.now
	}
	return alarm, set && r.idle <= idlePasses && alarm-r.idleAt <= idleFor
}

// alarm is the next instant, after this one, that the engine asks for.
func (r *run) alarm() (int64, bool) {
	at, ok := r.engine.Next()
	if !ok {
		return 0, false
	}
	ms := (at.Sub(epoch()) + time.Millisecond - 1).Milliseconds()
	return max(ms, r.now+1), true
}

// arrive submits the jobs whose time has come.
func (r *run) arrive() {
	for ; r.arrived < len(r.jobs) && r.jobs[r.arrived].submit <= r.now; r.arrived++ {
		j := r.jobs[r.arrived]
		r.futile = 0
		r.engine.Apply(engine.GangSet{Gang: j.gang()})
		for i := range j.pods {
			r.submit(j, i)
		}
	}
}

// submit makes a pod that waits.
func (r *run) submit(j *job, number int) {
	p := &j.pods[number]
	p.made++
	p.state, p.uid = waiting, j.podUID(number)
	j.waiting++
	r.pods[p.uid] = pod{j, number}
	r.books.want(j.queue, j.unit)
	r.engine.Apply(engine.TaskSet{Task: j.task(number, "", 0)})
}

// decide has the engine decide until it has nothing more to say at this instant.
func (r *run) decide() error {
	for range passesAtOnce {
		report := r.engine.Run(instant(r.now))
		if r.passes++; r.passes%tellEvery == 0 {
			if err := r.tell(); err != nil {
				return err
			}
		}
		evicted := r.carryOut(report)
		if evicted {
			if r.futile++; r.futile > futilePasses {
				return r.endless()
			}
			continue
		}
		if at, ok := r.engine.Next(); !ok || at.After(instant(r.now)) {
			return nil
		}
	}
	return nil // what is left to say is said a millisecond later
}

// endless says that gangs take room from each other and nothing comes of it.
func (r *run) endless() error {
	var names []string
	for _, j := range r.jobs[:r.arrived] {
		if j.preempted > 0 && !j.done() && len(names) < 3 {
			names = append(names, j.Name)
		}
	}
	return fmt.Errorf("after %s jobs make each other give way without end, %s among them: nothing ended or arrived in %d rounds of evictions; leave out preempt or reclaim, or report it with these files",
		clock(r.now), strings.Join(names, ", "), r.futile)
}

// carryOut does what was decided, and reports whether pods were evicted.
func (r *run) carryOut(report engine.Report) (evicted bool) {
	for _, d := range report.Decisions {
		switch d := d.(type) {
		case engine.Bind:
			r.bind(d)
		case engine.Evict:
			evicted = r.evict(d) || evicted
		case engine.Notice:
			r.notes.add(d)
		case engine.Fault:
			r.notes.note(d.String())
		case engine.Nominate, engine.Ungate, engine.Refuse, engine.Status, engine.Unmet, engine.Undo: // of no consequence here
		}
	}
	for _, j := range r.hurt {
		r.restore(j)
	}
	r.hurt = r.hurt[:0]
	return evicted
}

// bind starts a pod where it was placed.
func (r *run) bind(d engine.Bind) {
	at, ok := r.pods[d.UID]
	if !ok || at.job.pods[at.number].state != waiting {
		return
	}
	j, p := at.job, &at.job.pods[at.number]
	p.state, p.since = running, r.now
	j.waiting--
	j.running++
	r.running++
	r.books.want(j.queue, -j.unit)
	r.books.use(j.queue, j.unit)
	if j.lastStart != r.now {
		j.lastStart = r.now
		heap.Push(&r.ends, end{r.now + j.length, j, r.now})
	}
	if j.held() >= j.Min {
		j.resume(r.now)
	}
	r.engine.Apply(engine.TaskSet{Task: j.task(at.number, d.Node, r.now)})
}

// evict takes a pod away.
func (r *run) evict(d engine.Evict) bool {
	at, ok := r.pods[d.UID]
	if !ok || at.job.pods[at.number].state != running {
		return false
	}
	at.job.podsTaken++
	r.stop(at.job, at.number)
	if !at.job.hurt {
		at.job.hurt = true
		r.hurt = append(r.hurt, at.job)
	}
	return true
}

// stop takes a pod that runs, or ended, away. Its work is lost.
func (r *run) stop(j *job, number int) {
	p := &j.pods[number]
	spent := j.length
	if p.state == running {
		spent = r.now - p.since
		j.running--
		r.running--
		j.used += spent * j.unit
		r.books.use(j.queue, -j.unit)
	} else {
		j.finished--
	}
	j.lost += spent * j.unit
	p.state = gone
	delete(r.pods, p.uid)
	r.engine.Apply(engine.TaskGone{UID: p.uid})
}

// restore makes the pods anew that a job lost. If it lost its minimum it begins anew.
func (r *run) restore(j *job) {
	j.hurt = false
	if j.held() < j.Min {
		j.preempted++
		j.brokenAt = r.now
		for i := range j.pods {
			if s := j.pods[i].state; s == running || s == succeeded {
				r.stop(j, i)
			}
		}
	}
	for i := range j.pods {
		if j.pods[i].state == gone {
			r.submit(j, i)
		}
	}
}

// end lets the pods succeed whose time has come.
func (r *run) end() {
	for len(r.ends) > 0 && r.ends[0].at <= r.now {
		e := heap.Pop(&r.ends).(end) //nolint:forcetypeassert // the heap holds nothing else
		j := e.job
		for i := range j.pods {
			p := &j.pods[i]
			if p.state != running || p.since != e.since {
				continue
			}
			p.state, r.worked = succeeded, r.now
			j.running--
			j.finished++
			r.running--
			j.used += j.length * j.unit
			r.books.use(j.queue, -j.unit)
			if j.running+j.waiting > 0 {
				t := j.task(i, "", p.since)
				t.Running, t.Ended = false, model.Succeeded
				r.engine.Apply(engine.TaskSet{Task: t})
			}
		}
		if j.running+j.waiting == 0 && !j.done() {
			r.complete(j)
		}
	}
}

// complete takes a job away whose pods all succeeded.
func (r *run) complete(j *job) {
	j.end = r.now
	r.ended++
	r.futile = 0
	for i := range j.pods {
		delete(r.pods, j.pods[i].uid)
		r.engine.Apply(engine.TaskGone{UID: j.pods[i].uid})
	}
	r.engine.Apply(engine.GangGone{Key: j.key, UID: j.key})
	j.pods = nil
}

// tell says how far it is.
func (r *run) tell() error {
	if r.options.Progress == nil {
		return nil
	}
	p := Progress{Now: time.Duration(r.now) * time.Millisecond, Jobs: len(r.jobs), Arrived: r.arrived, Ended: r.ended, Running: r.running}
	if !r.options.Progress(p) {
		return &StoppedError{p}
	}
	return nil
}
