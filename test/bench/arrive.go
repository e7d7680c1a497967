package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	schedulingv1beta1 "github.com/muster-sh/muster/apis/scheduling/v1beta1"
)

// arrival is one gang that comes by itself.
type arrival struct {
	begun time.Time // its PodGroup was about to be made
	made  time.Time // its last pod was made
	bound time.Time // its last pod was seen bound
	left  map[string]bool
}

// arrivals are the gangs that came, by name.
type arrivals struct {
	mu    sync.Mutex
	gangs map[string]*arrival
	left  int // gangs not yet bound
	all   chan struct{}
}

// arrive measures how long gangs wait that come one after the other, at a steady rate.
func (b *bench) arrive(ctx context.Context) error {
	if err := b.clear(ctx); err != nil {
		return err
	}
	muster, err := b.startScheduler()
	if err != nil {
		return err
	}
	defer muster.stop()
	if err := muster.awaitCycle(ctx); err != nil {
		return err
	}
	count := int(b.rate * b.duration.Seconds())
	a := &arrivals{gangs: map[string]*arrival{}, left: count, all: make(chan struct{})}
	ctx, cancel := context.WithTimeout(ctx, b.duration+time.Minute)
	defer cancel()
	w, err := b.core.CoreV1().Pods(namespace).Watch(ctx, metav1.ListOptions{})
	if err != nil {
		return fmt.Errorf("watch pods: %w", err)
	}
	defer w.Stop()
	go a.look(w)
	before := readUsage()
	begin := time.Now()
	if err := b.submit(ctx, a, count); err != nil {
		return err
	}
	select {
	case <-a.all:
	case <-muster.done:
		return errEnded
	case <-ctx.Done():
		return fmt.Errorf("%d of %d gangs are not bound: %w", a.left, count, context.Cause(ctx))
	}
	took := time.Since(begin)
	used := readUsage().since(before)
	posts, patches, err := muster.requests(ctx)
	if err != nil {
		return err
	}
	now, _ := memory(muster.cmd.Process.Pid)
	whole := a.waits(func(g *arrival) time.Time { return g.begun })
	after := a.waits(func(g *arrival) time.Time { return g.made })
	b.results.line(fmt.Sprintf("arrive/size=%d/rate=%v", b.gang, b.rate),
		value{took.Seconds(), "s"},
		value{percentile(whole, 50), "p50-ms"}, value{percentile(whole, 99), "p99-ms"},
		value{percentile(after, 50), "made-p50-ms"}, value{percentile(after, 99), "made-p99-ms"},
		value{used.muster, "muster-cpu-s"}, value{now, "muster-MiB"}, value{posts, "posts"}, value{patches, "patches"},
		value{used.self, "client-cpu-s"}, value{used.server, "server-cpu-s"}, value{used.others, "others-cpu-s"})
	return nil
}

// submit makes gangs at the rate asked for, each by itself, however long any of them takes.
func (b *bench) submit(ctx context.Context, a *arrivals, count int) error {
	group, ctx := errgroup.WithContext(ctx)
	tick := time.NewTicker(time.Duration(float64(time.Second) / b.rate))
	defer tick.Stop()
	for i := range count {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return errors.Join(group.Wait(), ctx.Err())
		}
		group.Go(func() error { return b.submitOne(ctx, a, fmt.Sprintf("gang-%d", i)) })
	}
	return group.Wait()
}

func (b *bench) submitOne(ctx context.Context, a *arrivals, name string) error {
	g := &arrival{begun: time.Now(), left: map[string]bool{}}
	for i := range b.gang {
		g.left[fmt.Sprintf("%s-%d", name, i)] = true
	}
	a.mu.Lock()
	a.gangs[name] = g
	a.mu.Unlock()
	if err := b.addGang(ctx, name, b.gang); err != nil {
		return err
	}
	pods, ctx := errgroup.WithContext(ctx)
	for i := range b.gang {
		pods.Go(func() error {
			_, err := b.addPod(ctx, name, i)
			return err
		})
	}
	err := pods.Wait()
	a.mu.Lock()
	g.made = time.Now()
	a.mu.Unlock()
	return err
}

// look notes when gangs are bound.
func (a *arrivals) look(w watch.Interface) {
	for event := range w.ResultChan() {
		pod, ok := event.Object.(*corev1.Pod)
		if !ok || pod.Spec.NodeName == "" {
			continue
		}
		a.mu.Lock()
		g := a.gangs[pod.Annotations[schedulingv1beta1.GroupNameAnnotation]]
		if g != nil && g.left[pod.Name] {
			delete(g.left, pod.Name)
			if len(g.left) == 0 {
				g.bound = time.Now()
				if a.left--; a.left == 0 {
					close(a.all)
				}
			}
		}
		a.mu.Unlock()
	}
}

// waits are how long the gangs waited from some moment on, in milliseconds, the shortest first.
func (a *arrivals) waits(from func(*arrival) time.Time) []float64 {
	a.mu.Lock()
	defer a.mu.Unlock()
	waits := make([]float64, 0, len(a.gangs))
	for g := range maps.Values(a.gangs) {
		waits = append(waits, max(0, g.bound.Sub(from(g)).Seconds()*1000))
	}
	slices.Sort(waits)
	return waits
}

// percentile is the smallest value that p percent do not exceed; 0 of none.
func percentile(sorted []float64, p int) float64 {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[max(0, (len(sorted)*p+99)/100-1)]
}

// awaitCycle waits until muster has seen everything and decides.
func (s *scheduler) awaitCycle(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		if cycles, err := s.metric(ctx, "volcano_scheduling_cycles_total"); err == nil && cycles > 0 {
			return nil
		}
		select {
		case <-s.done:
			return errEnded
		case <-ctx.Done():
			return fmt.Errorf("muster runs no cycle: %w", context.Cause(ctx))
		case <-tick.C:
		}
	}
}
