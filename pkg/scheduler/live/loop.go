package live

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	schedulingv1beta1 "github.com/muster-sh/muster/apis/scheduling/v1beta1"
	"github.com/muster-sh/muster/pkg/reason"
	"github.com/muster-sh/muster/pkg/scheduler/conf"
	"github.com/muster-sh/muster/pkg/scheduler/engine"
	"github.com/muster-sh/muster/pkg/scheduler/record"
)

// loop owns the engine: it takes what has happened, lets the engine decide, and
// hands the decisions out. It never waits for a write.
func (s *Scheduler) loop(ctx context.Context, stopped <-chan error) error {
	var snapshot Snapshot
	var now, begin time.Time
	var questions chan question // none is taken before the first cycle
	var pending *question       // to be answered after a cycle
	defer close(s.ended)
	s.startRecording(ctx)
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case err := <-stopped:
			if ctx.Err() != nil {
				return nil
			}
			return fmt.Errorf("watch cache stopped: %w", err)
		case u := <-s.configs.updates:
			s.configs.apply(ctx, u, &snapshot)
		case out := <-s.dumps:
			s.dump(ctx, out)
			continue
		case q := <-questions:
			pending = &q // what came before it is to count
		case <-s.mailbox.bell:
		case <-timer.C:
		}
		if !pause(ctx, cycleGap-time.Since(begin)) {
			return nil
		}
		began := begin
		begin = time.Now()
		now = later(now, begin.Sub(began), begin.Round(0))
		events := s.mailbox.take()
		report := s.cycle(ctx, events, now)
		s.dispatch(ctx, report)
		s.recordRun(ctx, events, now, report)
		snapshot.Report = report
		snapshot.Cycles++
		snapshot.Tried += int64(report.Tried)
		snapshot.Placed += int64(report.Placed)
		snapshot.planned(report)
		snapshot.Faults += int64(report.Faults)
		took := time.Since(begin)
		s.took(Cycle, "", took)
		snapshot.CycleSeconds += took.Seconds()
		s.publish(&snapshot)
		if pending != nil {
			s.answer(*pending)
		}
		questions, pending = s.questions, nil
		if next, ok := s.engine.Next(); ok {
			timer.Reset(max(next.Sub(now)-time.Since(begin), 0))
		}
	}
}

// cycle tells the engine what happened and lets it decide. Who asked for it is told how long
// each part of that took.
func (s *Scheduler) cycle(ctx context.Context, events []engine.Event, now time.Time) engine.Report {
	log := logr.FromContextOrDiscard(ctx)
	log.V(1).Info("Session Open", "events", len(events))
	begin, opened := time.Now(), false
	s.engine.Around = func(part engine.Part, name string, do func()) {
		span := Beginning
		if part == engine.Acting {
			span = Acting
			if !opened {
				opened = true
				s.took(Opening, "", time.Since(begin))
			}
		}
		from := time.Now()
		do()
		s.took(span, name, time.Since(from))
	}
	s.engine.Apply(events...)
	report := s.engine.Run(now)
	log.V(1).Info("Session Close", "duration", time.Since(begin), "tried", report.Tried, "placed", report.Placed)
	return report
}

// later is the engine's time, some time after now. It follows the clock forwards.
// When that is set back, it goes on by the time that passed: what is to happen in a
// second does, whatever the clock says.
func later(now time.Time, passed time.Duration, clock time.Time) time.Time {
	if next := now.Add(passed); !now.IsZero() && next.After(clock) {
		return next
	}
	return clock
}

// cycleGap is the least time from the start of a cycle to that of the next. A
// cycle after a quiet time starts at once; while events come by the thousand, a
// few are taken together.
const cycleGap = 5 * time.Millisecond

// pause waits, not at all when d is not above 0. It returns false when ctx ends.
func pause(ctx context.Context, d time.Duration) bool {
	if d <= 0 {
		return ctx.Err() == nil
	}
	select {
	case <-ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}

// startRecording begins to record what the engine is told and decides, if that is wanted.
func (s *Scheduler) startRecording(ctx context.Context) {
	if s.options.Record == nil {
		return
	}
	var err error
	if s.record, err = s.recording(s.options.Record); err != nil {
		logr.FromContextOrDiscard(ctx).Error(err, "nothing is recorded")
	}
}

// recording begins a recording of the engine as it is configured now.
func (s *Scheduler) recording(out io.Writer) (*record.Writer, error) {
	text, err := conf.Format(s.configs.running)
	if err != nil {
		return nil, err
	}
	return record.NewWriter(out, text), nil
}

// recordRun records one run and what the engine was told before it. The first error ends the recording.
func (s *Scheduler) recordRun(ctx context.Context, events []engine.Event, now time.Time, report engine.Report) {
	if s.record == nil {
		return
	}
	s.record.Applied(events)
	s.record.Heard(s.engine.Heard())
	s.record.Ran(now, report)
	if err := s.record.Err(); err != nil {
		logr.FromContextOrDiscard(ctx).Error(err, "the recording ends here")
		s.record = nil
	}
}

// Dump asks for everything that the engine knows to be written, as a recording that
// `muster replay` reads; write is called once, with that text.
func (s *Scheduler) Dump(write func(text []byte)) {
	select {
	case s.dumps <- write:
	default: // one is asked for already
	}
}

func (s *Scheduler) dump(ctx context.Context, write func([]byte)) {
	var out bytes.Buffer
	w, err := s.recording(&out)
	if err == nil {
		w.Applied(s.engine.Facts())
		err = w.Err()
	}
	if err != nil {
		logr.FromContextOrDiscard(ctx).Error(err, "nothing is dumped")
		return
	}
	go write(out.Bytes())
}

func (s *Scheduler) publish(snapshot *Snapshot) {
	snapshot.Queues = s.engine.Queues()
	snapshot.Objectives, snapshot.Missed = s.engine.Objectives()
	s.mu.Lock()
	snapshot.Waiting = len(s.waiting)
	s.mu.Unlock()
	if s.asked.Swap(false) {
		snapshot.Figures = s.engine.Figures()
	}
	last := *snapshot
	s.last.Store(&last)
	s.queues.note(snapshot.Queues)
}

// dispatch hands out decisions.
func (s *Scheduler) dispatch(ctx context.Context, report engine.Report) {
	log := logr.FromContextOrDiscard(ctx)
	for _, d := range report.Decisions {
		switch d := d.(type) {
		case engine.Bind:
			log.V(1).Info("Allocate task "+d.Name+" to node "+d.Node, "gang", d.Gang)
			s.announcer.reached(Assumed, d.UID)
			s.nominator.forget(d.UID) // the binding says it, and more
			if d.Before != nil || d.Together > 0 {
				s.preparer.take(ctx, d)
			} else {
				s.binder.queue.Add(d)
			}
		case engine.Undo:
			log.V(1).Info("Undo what task "+d.Name+" was given", "gang", d.Gang)
			s.preparer.undo(d)
		case engine.Evict:
			log.Info("Evict task "+d.Name, "gang", d.Gang, "for", d.For, "rule", d.Why.Code, "why", d.Why.String())
			s.evictor.add(d)
		case engine.Nominate:
			log.V(1).Info("Nominate task "+d.Name+" to node "+d.Node, "gang", d.Gang)
			s.nominator.add(d)
		case engine.Refuse:
			s.refused(log, d)
		case engine.Ungate:
			s.gates.queue.Add(d)
		case engine.Notice:
			log.Info("hints are left out", "gang", d.Gang, "queue", d.Queue, "said", d.Said)
			s.notice(ctx, d)
		case engine.Fault:
			log.Error(errors.New(d.Value), d.String(), "where", d.Where)
			s.recorder.Event(s.configs.subject(ctx), corev1.EventTypeWarning, string(reason.Fault), clip(d.String()))
		case engine.Unmet:
			s.unmet(ctx, d)
		case engine.Status:
			s.moved(log, d)
		}
	}
}

// refused hands out a refusal. That a wait begins, or has another cause, is news;
// other numbers are not.
func (s *Scheduler) refused(log logr.Logger, d engine.Refuse) {
	switch {
	case d.Task == "":
		level := 0
		if s.wait(d.Gang, &d.Why) == d.Why.Code {
			level = 1
		}
		log.V(level).Info("PodGroup "+d.Gang+" is pending reason: "+cause(d.Why), "reason", d.Why.Code, "why", d.Why.String())
		s.statuses.refused(d)
		return
	case d.Why.Code == reason.GangFound:
		log.V(1).Info("pod has a PodGroup", "pod", d.Task, "gang", d.Gang)
	default:
		log.Info("pod has no PodGroup", "pod", d.Task, "gang", d.Gang, "reason", d.Why.Code)
	}
	s.statuses.orphan(d)
}

// cause is a refusal in as few words as people search logs for.
func cause(why reason.Reason) string {
	if why.NodesHelp() || len(why.Short) > 0 {
		return "insufficient resources"
	}
	return string(why.Code)
}

// moved hands out how far a gang has come. Another phase is news; counts within one are not.
func (s *Scheduler) moved(log logr.Logger, d engine.Status) {
	if !d.Waits {
		s.wait(d.Gang, nil)
	}
	level := 1
	if s.statuses.moved(d) {
		level = 0
	}
	log.V(level).Info("PodGroup "+d.Gang+" is "+strings.ToLower(string(d.Phase)), "held", d.Held, "min", d.Min, "running", d.Running)
}

// notice tells who wrote a hint that is left out.
func (s *Scheduler) notice(ctx context.Context, d engine.Notice) {
	var about client.Object = &schedulingv1beta1.PodGroup{}
	key := types.NamespacedName{Name: d.Queue}
	if d.Queue != "" {
		about = &schedulingv1beta1.Queue{}
	} else {
		key.Namespace, key.Name, _ = strings.Cut(d.Gang, "/")
	}
	if err := s.cache.Get(ctx, key, about); err != nil {
		return // it went meanwhile
	}
	for _, said := range d.Said {
		s.recorder.Event(about, corev1.EventTypeWarning, "HintIgnored", said)
	}
}

// unmet tells that a gang won't get what it was promised, or may after all.
func (s *Scheduler) unmet(ctx context.Context, d engine.Unmet) {
	log := logr.FromContextOrDiscard(ctx)
	s.statuses.unmet(d)
	if d.Why == nil {
		log.Info("PodGroup may get what it was promised after all", "gang", d.Gang)
		return
	}
	log.Info("PodGroup won't get what it was promised", "gang", d.Gang, "reason", d.Why.Code, "why", d.Why.String())
	var pg schedulingv1beta1.PodGroup
	namespace, name, _ := strings.Cut(d.Gang, "/")
	if err := s.cache.Get(ctx, types.NamespacedName{Namespace: namespace, Name: name}, &pg); err != nil {
		return // it went meanwhile
	}
	s.recorder.Event(&pg, corev1.EventTypeWarning, string(d.Why.Code), d.Why.String())
}
