package v1alpha1

import (
	"math"
	"strconv"

	schedulingv1beta1 "github.com/muster-sh/muster/apis/scheduling/v1beta1"
)

const (
	// DefaultSchedulerName is the scheduler of pods whose job names none.
	DefaultSchedulerName = "volcano"
	// DefaultMaxRetry is how often the containers of a task may start again when it does not say.
	DefaultMaxRetry = 3
)

// SetDefaults says for a job what its author left open: the queue, the scheduler, the names of
// tasks, and how many pods must run together. It can be applied again and again.
func SetDefaults(job *Job) {
	s := &job.Spec
	if s.Queue == "" {
		s.Queue = schedulingv1beta1.DefaultQueue
	}
	if s.SchedulerName == "" {
		s.SchedulerName = DefaultSchedulerName
	}
	var sum int64
	for i := range s.Tasks {
		t := &s.Tasks[i]
		if t.Name == "" {
			t.Name = defaultTask(i)
		}
		if t.MinAvailable == nil {
			t.MinAvailable = new(t.leastAvailable())
		}
		if t.MaxRetry == 0 {
			t.MaxRetry = DefaultMaxRetry
		}
		sum += int64(*t.MinAvailable)
	}
	if s.MinAvailable == 0 {
		s.MinAvailable = int32(min(sum, math.MaxInt32))
	}
}

// leastAvailable is how many pods of a task must run when it does not say: all, or those of
// the parts that must.
func (t *TaskSpec) leastAvailable() int32 {
	if p := t.PartitionPolicy; p != nil && p.MinPartitions > 0 {
		return int32(min(int64(p.MinPartitions)*int64(p.PartitionSize), math.MaxInt32))
	}
	return t.Replicas
}

// Final reports whether a job in this phase has ended for good.
func (p JobPhase) Final() bool { return p == Completed || p == Failed || p == Terminated }

// defaultTask is the name of a task that has none, by its number in the job.
func defaultTask(number int) string { return "default" + strconv.Itoa(number) }
