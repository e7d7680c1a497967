package simulate

import (
	"slices"

	"github.com/muster-sh/muster/pkg/resource"
)

// Result is what came of a simulation.
type Result struct {
	Summary
	Jobs   []JobResult
	Queues []QueueResult
	Usage  Usage
}

// Summary is a simulation in figures. Times are in seconds, amounts in the counted resource.
type Summary struct {
	Name          string       `json:"name"`
	Resource      string       `json:"resource"`
	Total         float64      `json:"total"` // of the resource, in the cluster
	Nodes         int          `json:"nodes"`
	JobsSubmitted int          `json:"jobs_submitted"`
	JobsFinished  int          `json:"jobs_finished"`
	JobsNever     int          `json:"jobs_never_placed"`
	Completion    Spread       `json:"job_completion_seconds"`
	Queueing      Spread       `json:"queueing_seconds"` // until a job first had its minimum
	Makespan      float64      `json:"makespan_seconds"` // from the first arrival to the last end
	Utilisation   float64      `json:"utilisation"`      // part of what there was over the makespan
	Used          float64      `json:"used_resource_seconds"`
	Lost          float64      `json:"lost_resource_seconds"` // of Used, work that had to be done again
	Fairness      float64      `json:"fairness_jain"`
	Preemptions   Preemptions  `json:"preemptions"`
	Deadlines     *Deadlines   `json:"deadlines,omitempty"`
	Passes        int          `json:"engine_passes"`
	Never         []NeverEnded `json:"never_placed,omitempty"`
	Notes         []string     `json:"notes,omitempty"`
}

// Spread is how times are spread, in seconds. Percentiles are by nearest rank.
type Spread struct {
	Mean float64 `json:"mean"`
	P50  float64 `json:"p50"`
	P90  float64 `json:"p90"`
	P99  float64 `json:"p99"`
	Max  float64 `json:"max"`
}

// Preemptions counts gangs that lost their minimum, each time, and pods that were told to go.
type Preemptions struct {
	Gangs int `json:"gangs"`
	Pods  int `json:"pods"`
}

// Deadlines counts the jobs that have one.
type Deadlines struct {
	Met    int `json:"met"`
	Missed int `json:"missed"`
}

// NeverEnded is a job that could not run to its end.
type NeverEnded struct {
	Job   string `json:"job"`
	Queue string `json:"queue"`
	Code  string `json:"code"`
	Why   string `json:"why"`
	// where is where the job was read.
	where place
}

// JobResult is what became of a job. Times are in seconds since the start, below 0 when that never came.
type JobResult struct {
	Name, Queue          string
	Pods                 int32
	Submit, Start, End   float64
	Requeued             float64 // how long it waited again after it had to give way
	Used, Lost           float64 // resource times seconds
	Preempted, PodsTaken int
	Deadline             float64 // below 0: none
	Why                  string  // it never ended
}

// QueueResult is what became of a queue's jobs.
type QueueResult struct {
	Name        string  `json:"name"`
	Jobs        int     `json:"jobs"`
	Finished    int     `json:"jobs_finished"`
	Completion  Spread  `json:"job_completion_seconds"`
	Queueing    Spread  `json:"queueing_seconds"`
	Used        float64 `json:"used_resource_seconds"`
	Lost        float64 `json:"lost_resource_seconds"`
	Share       float64 `json:"share"`         // of all that was used
	FairPart    float64 `json:"got_of_fair"`   // of its fair part while it wanted it
	Preemptions int     `json:"gangs_evicted"` // gangs that lost their minimum
}

// result sums up what happened.
func (r *run) result() *Result {
	c := counter{scale: 1, resource: r.options.Resource}
	if c.resource == resource.CPU {
		c.scale = 1000
	}
	res := &Result{Summary: Summary{
		Name: r.options.Name, Resource: c.resource, Total: c.amount(r.books.total), Nodes: len(r.trace.Nodes),
		JobsSubmitted: len(r.jobs), JobsFinished: r.ended, Passes: r.passes, Notes: r.notes.said,
	}}
	from, to := r.span()
	res.Usage = r.books.usage(from, to, newFairness(r.trace, c.resource, r.books.queues))
	queues := make([]tally, len(r.books.queues))
	var all tally
	for _, j := range r.jobs {
		if !j.done() {
			res.Never = append(res.Never, r.why(j))
		}
		all.add(j)
		queues[j.queue].add(j)
		res.Jobs = append(res.Jobs, c.job(j, res.Never))
	}
	res.JobsNever = len(res.Never)
	res.Completion, res.Queueing = spread(all.completion), spread(all.queueing)
	res.Used, res.Lost = c.seconds(all.used), c.seconds(all.lost)
	res.Makespan = seconds(to - from)
	if r.books.total > 0 && to > from {
		res.Utilisation = float64(all.used) / (float64(r.books.total) * float64(to-from))
	}
	res.Preemptions = Preemptions{Gangs: all.preempted, Pods: all.podsTaken}
	if all.met+all.missed > 0 {
		res.Deadlines = &Deadlines{Met: all.met, Missed: all.missed}
	}
	res.Queues, res.Fairness = c.queues(&res.Usage, queues, all.used)
	return res
}

// span is from the first arrival to the last end of a pod.
func (r *run) span() (from, to int64) {
	if len(r.jobs) > 0 {
		from = r.jobs[0].submit
	}
	return from, max(r.worked, from)
}

// why says why a job did not come to its end.
func (r *run) why(j *job) NeverEnded {
	n := NeverEnded{Job: j.Name, Queue: j.Queue, where: j.place, Code: "Unknown", Why: "it is not known why"}
	if why, ok := r.engine.Explain(j.key); ok {
		n.Code, n.Why = string(why.Code), why.String()
	}
	return n
}

// tally gathers the figures of jobs.
type tally struct {
	jobs                 int
	completion, queueing []int64
	used, lost           int64
	preempted, podsTaken int
	met, missed          int
}

func (t *tally) add(j *job) {
	t.jobs++
	if j.done() {
		t.completion = append(t.completion, j.end-j.submit)
	}
	if j.start >= 0 {
		t.queueing = append(t.queueing, j.start-j.submit)
	}
	t.used += j.used
	t.lost += j.lost
	t.preempted += j.preempted
	t.podsTaken += j.podsTaken
	switch {
	case j.Deadline == 0:
	case j.done() && j.end <= j.Deadline.Milliseconds():
		t.met++
	default:
		t.missed++
	}
}

// counter turns exact sums into figures.
type counter struct {
	resource string
	scale    float64
}

func (c counter) amount(n int64) float64  { return float64(n) / c.scale }
func (c counter) seconds(n int64) float64 { return float64(n) / c.scale / 1000 }

func seconds(ms int64) float64 { return float64(ms) / 1000 }

func (c counter) job(j *job, never []NeverEnded) JobResult {
	res := JobResult{
		Name: j.Name, Queue: j.Queue, Pods: j.Size, Submit: seconds(j.submit), Start: -1, End: -1, Deadline: -1,
		Requeued: seconds(j.requeued), Used: c.seconds(j.used), Lost: c.seconds(j.lost),
		Preempted: j.preempted, PodsTaken: j.podsTaken,
	}
	if j.start >= 0 {
		res.Start = seconds(j.start)
	}
	if j.Deadline > 0 {
		res.Deadline = j.Deadline.Seconds()
	}
	if j.done() {
		res.End = seconds(j.end)
	} else {
		res.Why = never[len(never)-1].Why
	}
	return res
}

// queues sums up each queue, and how equal their parts were.
func (c counter) queues(u *Usage, tallies []tally, used int64) ([]QueueResult, float64) {
	var out []QueueResult
	var parts []float64
	for q, t := range tallies {
		res := QueueResult{
			Name: u.Queues[q], Jobs: t.jobs, Finished: len(t.completion), Completion: spread(t.completion), Queueing: spread(t.queueing),
			Used: c.seconds(t.used), Lost: c.seconds(t.lost), Preemptions: t.preempted, FairPart: 1,
		}
		if used > 0 {
			res.Share = float64(t.used) / float64(used)
		}
		var got, fair float64
		for i := range u.Fair[q] {
			got += float64(min(u.Used[q][i], u.Fair[q][i]))
			fair += float64(u.Fair[q][i])
		}
		if fair > 0 {
			res.FairPart = got / fair
			parts = append(parts, res.FairPart)
		}
		out = append(out, res)
	}
	return out, jain(parts)
}

// spread says how times are spread.
func spread(ms []int64) Spread {
	if len(ms) == 0 {
		return Spread{}
	}
	sorted := slices.Sorted(slices.Values(ms))
	var sum float64
	for _, n := range sorted {
		sum += float64(n)
	}
	rank := func(percent int) float64 { return seconds(sorted[(len(sorted)*percent+99)/100-1]) }
	return Spread{Mean: sum / float64(len(sorted)) / 1000, P50: rank(50), P90: rank(90), P99: rank(99), Max: rank(100)}
}
