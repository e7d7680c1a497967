// Package simulate runs the engine on virtual time over a cluster and a workload: gangs
// arrive, are placed by the same code that places them on a cluster, run for as long as the
// workload says, and end. What came of it is told in numbers and pictures, for one
// configuration or for several side by side. The same input gives the same bytes.
//
// It opens no file and has no clock: texts come in and go out. The room beside it, sim,
// speaks a language for scripts, in which every single event is said.
package simulate

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	schedulingv1beta1 "github.com/muster-sh/muster/apis/scheduling/v1beta1"
	"github.com/muster-sh/muster/pkg/model"
	"github.com/muster-sh/muster/pkg/resource"
	"github.com/muster-sh/muster/pkg/scheduler/engine"
	"github.com/muster-sh/muster/pkg/scheduler/framework"
)

// GPU is the resource that is counted when nothing else is asked for.
const GPU = "nvidia.com/gpu"

// Trace is what is simulated: a cluster and what arrives on it.
type Trace struct {
	Cluster
	Jobs []Job // by time of arrival
}

// Cluster is nodes and queues, root among them.
type Cluster struct {
	Nodes  []model.NodeSpec
	Queues []model.QueueSpec
	given  bool // queues were named; else each that a job names exists
}

// Job is a gang of equal pods. Times are since the start of the trace, in whole milliseconds.
type Job struct {
	Name     string
	Queue    string
	Priority int32
	Submit   time.Duration
	Duration time.Duration // of each pod, from when it is placed
	Deadline time.Duration // by when all of it should have ended; 0: none
	Size     int32         // pods
	Min      int32         // of them, that must run together
	Shape    model.Shape   // of each pod
	// Annotations are its hints, as on a PodGroup and its pods.
	Annotations map[string]string

	place place // where it was read
}

// Options say how to simulate.
type Options struct {
	Name     string // of the configuration
	Config   engine.Config
	Registry framework.Registry
	// Resource is what figures and pictures count; empty: [GPU].
	Resource string
	// Progress, if not nil, is told now and then how far it is. False ends the simulation.
	Progress func(Progress) bool
}

// Progress is how far a simulation is.
type Progress struct {
	Now                  time.Duration // since the start of the trace
	Jobs, Arrived, Ended int
	Running              int // pods
}

// StoppedError says that Progress ended a simulation.
type StoppedError struct{ Progress }

func (e *StoppedError) Error() string { return "the simulation was stopped" }

// epoch is when virtual time begins.
func epoch() time.Time { return time.Unix(0, 0).UTC() }

// instant turns milliseconds since the start into the engine's time.
func instant(ms int64) time.Time { return epoch().Add(time.Duration(ms) * time.Millisecond) }

// File is a text and where it comes from.
type File struct {
	Name string
	Text []byte
}

// Read reads a cluster and the workload on it. The error is [Faults]: everything that is wrong
// with either. Where the cluster names no queues, those that jobs name exist.
func Read(cluster, workload File) (*Trace, error) {
	c, faults := ParseCluster(cluster.Name, cluster.Text)
	jobs, more := ParseWorkload(workload.Name, workload.Text)
	t := &Trace{Cluster: c, Jobs: jobs}
	if more = append(faults, more...); len(more) > 0 {
		return nil, more.Err()
	}
	if !c.given {
		t.addQueues()
	}
	if err := t.checkQueues(cluster.Name).Err(); err != nil {
		return nil, err
	}
	return t, nil
}

// counts reports as an error that there is nothing to count of a resource, or too much.
func (t *Trace) counts(name string) error {
	known := map[string]bool{}
	know := func(list resource.List) {
		for _, a := range list {
			known[a.Name] = known[a.Name] || a.Value > 0 && !resource.Bytes(a.Name)
		}
	}
	for i := range t.Nodes {
		know(t.Nodes[i].Allocatable)
	}
	for i := range t.Jobs {
		know(t.Jobs[i].Shape.Requests)
	}
	if known[name] {
		return t.asks(name)
	}
	names := slices.DeleteFunc(slices.Sorted(maps.Keys(known)), func(n string) bool { return !known[n] })
	return fmt.Errorf("resource %s: no node has it, and no job asks for it: with --resource, name one of %s", name, strings.Join(names, ", "))
}

// addQueues makes the queues that jobs name.
func (t *Trace) addQueues() {
	names := map[string]bool{}
	for i := range t.Jobs {
		names[t.Jobs[i].Queue] = true
	}
	delete(names, schedulingv1beta1.RootQueue)
	for _, name := range slices.Sorted(maps.Keys(names)) {
		t.Queues = append(t.Queues, model.QueueSpec{Name: name, Parent: schedulingv1beta1.RootQueue, Weight: 1, Reclaimable: true})
	}
}

// checkQueues finds jobs whose queue is not there.
func (t *Trace) checkQueues(cluster string) (faults Faults) {
	var known []string
	for _, q := range t.Queues {
		if q.Name != schedulingv1beta1.RootQueue {
			known = append(known, q.Name)
		}
	}
	for i := range t.Jobs {
		j := &t.Jobs[i]
		if !slices.Contains(known, j.Queue) && j.Queue != schedulingv1beta1.RootQueue {
			f := unknown(j.place, "queue", j.Queue, known)
			f.Field, f.What = "queue", fmt.Sprintf("is %q, which %s does not have", shorten(j.Queue), cluster)
			faults = append(faults, f)
		}
	}
	return faults
}

// asks reports as an error that jobs ask for more of a resource than can be added up.
func (t *Trace) asks(name string) error {
	var all int64
	for i := range t.Jobs {
		each, _ := t.Jobs[i].Shape.Requests.Get(name)
		all = resource.Add(all, times(each, max(int64(t.Jobs[i].Size), 1)))
	}
	if all <= resource.Most {
		return nil
	}
	return fmt.Errorf("all jobs together ask for more of resource %s than can be counted: give them at most %s", name, mostOf(name))
}
