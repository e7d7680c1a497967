package model_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/muster-sh/muster/pkg/model"
)

func TestOthersSeeThatAPodHasOtherLabels(t *testing.T) {
	pod := func(app string, edits ...func(*corev1.Pod)) *corev1.Pod {
		p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": app}}}
		for _, edit := range edits {
			edit(p)
		}
		return p
	}
	tests := map[string]struct {
		node    string
		pod     *corev1.Pod
		seen    bool // the node is another
		touched bool // so is the gang
	}{
		"the same labels":          {"n", pod("a"), false, false},
		"others, on a node":        {"n", pod("b"), true, true},
		"others, while it waits":   {"", pod("b"), false, true},
		"a claim that was created": {"", pod("a", func(p *corev1.Pod) { p.Status.ResourceClaimStatuses = []corev1.PodResourceClaimStatus{{Name: "gpu"}} }), false, true},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			w := model.New()
			n, _ := w.SetNode(model.NodeSpec{Name: "n"})
			spec := model.TaskSpec{UID: "u", Name: "ns/p", Gang: "ns/g", Node: tt.node, Pod: pod("a"), Shape: model.Shape{Key: "k"}}
			w.SetTask(spec)
			w.TakeTouched()
			w.Happened = 0
			before := n.Epoch
			spec.Pod = tt.pod
			w.SetTask(spec)
			if (n.Epoch != before) != tt.seen || (w.Happened&model.TaskPlaced != 0) != tt.seen {
				t.Errorf("node changed: %v, happened %b, want %v", n.Epoch != before, w.Happened, tt.seen)
			}
			if touched := len(w.TakeTouched()) > 0; touched != tt.touched {
				t.Errorf("gang touched: %v, want %v", touched, tt.touched)
			}
			if got := w.TaskOf("u").Pod; got != tt.pod {
				t.Error("the task keeps the old pod")
			}
		})
	}
}
