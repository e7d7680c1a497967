package relations_test

import (
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/muster-sh/muster/pkg/model"
	"github.com/muster-sh/muster/pkg/scheduler/framework"
)

// BenchmarkGang places gangs of 100 tasks on 10,000 nodes in 10 zones that run 8
// other pods each, as the engine does: nodes by domain, and the judge is asked
// about one node of a domain until a task is placed.
func BenchmarkGang(b *testing.B) {
	const nodes, size = 10_000, 100
	for name, asks := range map[string]func(app string) []func(*corev1.Pod){
		"nothing":                      func(string) []func(*corev1.Pod) { return nil },
		"spread over zones":            func(app string) []func(*corev1.Pod) { return []func(*corev1.Pod){spread(app, zone, 1)} },
		"spread over hosts":            func(app string) []func(*corev1.Pod) { return []func(*corev1.Pod){spread(app, host, 1)} },
		"apart on hosts":               func(app string) []func(*corev1.Pod) { return []func(*corev1.Pod){apart(app, host)} },
		"together in a zone":           func(app string) []func(*corev1.Pod) { return []func(*corev1.Pod){near(app, zone)} },
		"together, but apart on hosts": func(app string) []func(*corev1.Pod) { return []func(*corev1.Pod){near(app, zone), apart(app, host)} },
	} {
		b.Run(name, func(b *testing.B) {
			w := newWorld(b, nil)
			for i := range nodes {
				n := w.node(fmt.Sprintf("n%d", i), fmt.Sprintf("z%d", i%10))
				for k := range 8 {
					w.task(pod(fmt.Sprintf("r%d-%d", i, k), fmt.Sprint("other", k)), "", n.Name)
				}
			}
			gang := func(i int) []*model.Task {
				app := fmt.Sprintf("app%d", i)
				tasks := make([]*model.Task, size)
				for k := range tasks {
					tasks[k] = w.task(pod(fmt.Sprintf("g%d-%d", i, k), app, asks(app)...), fmt.Sprintf("ns/g%d", i), "")
				}
				return tasks
			}
			drive(b, w, gang(-1)) // what is done once, when the plugin is new
			b.ResetTimer()
			for i := range b.N {
				b.StopTimer()
				tasks := gang(i)
				b.StartTimer()
				w.plugin.Begin(w.World, time.Time{})
				drive(b, w, tasks)
				b.StopTimer()
				for _, t := range tasks {
					w.DropTask(t.UID)
				}
				b.StartTimer()
			}
			b.ReportMetric(float64(b.N*size)/b.Elapsed().Seconds(), "placements/s")
		})
	}
}

// drive places tasks as the engine does. Tasks of no kind concern other plugins alone.
func drive(b *testing.B, w *world, tasks []*model.Task) {
	for _, t := range tasks {
		if w.plugin.Kind(t) == "" {
			return
		}
	}
	j := w.judge(tasks[0])
	domains := split(w, j)
	for _, t := range tasks {
		n := next(j, domains)
		if n == nil {
			b.Fatalf("no node for %s", t.Name)
		}
		w.put(j, t, n)
	}
	w.Commit()
}

// split divides nodes by domain, in order of their first mention.
func split(w *world, j framework.Judge) [][]*model.Node {
	var domains [][]*model.Node
	index := map[string]int{}
	for _, n := range w.Nodes() {
		name := j.Domain(n)
		i, ok := index[name]
		if !ok {
			i = len(domains)
			index[name] = i
			domains = append(domains, nil)
		}
		domains[i] = append(domains[i], n)
	}
	return domains
}

// next is a node of the first domain that fits, as for a score that prefers full nodes.
func next(j framework.Judge, domains [][]*model.Node) *model.Node {
	for _, nodes := range domains {
		if _, ok := j.Fits(nodes[0]); ok {
			return nodes[0]
		}
	}
	return nil
}
