package v1alpha1_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	batchv1alpha1 "github.com/muster-sh/muster/apis/batch/v1alpha1"
)

func TestTaskTopologyBecomesAnnotations(t *testing.T) {
	type (
		task = batchv1alpha1.TaskSpec
		term = batchv1alpha1.TaskAffinityTerm
		side = batchv1alpha1.TaskAffinity
	)
	const host = "kubernetes.io/hostname"
	near := func(terms ...term) *batchv1alpha1.TaskTopology {
		return &batchv1alpha1.TaskTopology{Affinity: &side{Pod: terms}}
	}
	apart := func(terms ...term) *batchv1alpha1.TaskTopology {
		return &batchv1alpha1.TaskTopology{AntiAffinity: &side{Pod: terms}}
	}
	affinity := func(value string) map[string]string {
		return map[string]string{"volcano.sh/task-topology-affinity": value}
	}
	tests := map[string]struct {
		tasks []task
		want  map[string]string
		lost  []string
	}{
		"nothing is said": {tasks: []task{{Name: "ps"}, {Name: "worker"}}},
		"the seed's job: workers near parameter servers": {
			tasks: []task{{Name: "ps"}, {Name: "worker", TaskTopology: near(term{Task: "ps", TopologyKey: host, Weight: 100})}},
			want:  affinity("ps,worker"),
		},
		"both speak of the other": {
			tasks: []task{{Name: "ps", TaskTopology: near(term{Task: "worker"})}, {Name: "worker", TaskTopology: near(term{Task: "ps"})}},
			want:  affinity("ps,worker"),
		},
		"a task among itself": {
			tasks: []task{{Name: "ps", TaskTopology: apart(term{Task: "ps"})}},
			want:  map[string]string{"volcano.sh/task-topology-anti-affinity": "ps"},
		},
		"several terms": {
			tasks: []task{{Name: "ps"}, {Name: "worker", TaskTopology: near(term{Task: "chief"}, term{Task: "ps"})}, {Name: "chief"}},
			want:  affinity("worker,chief;ps,worker"),
		},
		"both sides": {
			tasks: []task{{Name: "ps", TaskTopology: apart(term{Task: "ps"})}, {Name: "worker", TaskTopology: near(term{Task: "ps"})}},
			want: map[string]string{
				"volcano.sh/task-topology-affinity": "ps,worker", "volcano.sh/task-topology-anti-affinity": "ps",
			},
		},
		"a task that is not there is left for the scheduler to name": {
			tasks: []task{{Name: "worker", TaskTopology: near(term{Task: "pss"})}},
			want:  affinity("worker,pss"),
		},
		"another topology key": {
			tasks: []task{{Name: "ps"}, {Name: "worker", TaskTopology: near(term{Task: "ps", TopologyKey: "zone"})}},
			want:  affinity("ps,worker"),
			lost:  []string{"spec.tasks[1].taskTopology.affinity.pod[0].topologyKey is zone: tasks are near when they share a node; name kubernetes.io/hostname"},
		},
		"weights that differ": {
			tasks: []task{{Name: "a"}, {Name: "b", TaskTopology: near(term{Task: "a", Weight: 100}, term{Task: "b", Weight: 1})}},
			want:  affinity("a,b;b"),
			lost:  []string{"spec.tasks[*].taskTopology: weights of terms differ, but all terms count alike"},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got, lost := batchv1alpha1.TopologyAnnotations(tt.tasks)
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("annotations (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tt.lost, lost); diff != "" {
				t.Errorf("lost (-want +got):\n%s", diff)
			}
		})
	}
}
