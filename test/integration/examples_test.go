package integration_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	schedulingv1beta1 "github.com/muster-sh/muster/apis/scheduling/v1beta1"
	"github.com/muster-sh/muster/test/cluster"
)

// TestTheExampleQueuesDoWhatTheySay makes the hierarchy, finds nothing to say
// against it, and closes one side of it.
func TestTheExampleQueuesDoWhatTheySay(t *testing.T) {
	w := newWorld(t, cluster.Config{Nodes: 25})
	objects := func(file string) []*unstructured.Unstructured {
		t.Helper()
		text, err := os.ReadFile(filepath.Join("..", "..", "examples", "queues", file))
		if err != nil {
			t.Fatal(err)
		}
		var found []*unstructured.Unstructured
		for _, doc := range cluster.Documents(string(text)) {
			o := &unstructured.Unstructured{}
			if err := yaml.Unmarshal([]byte(doc), &o.Object); err != nil {
				t.Fatal(err)
			}
			if err := w.Create(t.Context(), o); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = w.Delete(context.WithoutCancel(t.Context()), o) })
			found = append(found, o)
		}
		return found
	}
	queues := objects("hierarchy.yaml")
	for _, q := range queues {
		w.inState(t, q.GetName(), schedulingv1beta1.QueueStateOpen)
	}
	var all schedulingv1beta1.QueueList
	if err := w.List(t.Context(), &all); err != nil {
		t.Fatal(err)
	}
	for i := range all.Items {
		q := &all.Items[i]
		if errs := q.Check(schedulingv1beta1.KinOf(q, all.Items)); len(errs) > 0 {
			t.Errorf("queue %s: %v", q.Name, errs)
		}
	}
	objects("close.yaml")
	for _, name := range []string{"research", "research-vision", "research-language"} {
		w.inState(t, name, schedulingv1beta1.QueueStateClosed)
	}
	w.inState(t, "serving", schedulingv1beta1.QueueStateOpen)
	eventually(t, func(ctx context.Context) error {
		var q schedulingv1beta1.Queue
		if err := w.Get(ctx, client.ObjectKey{Name: "research-vision"}, &q); err != nil {
			return err
		}
		if q.Annotations[schedulingv1beta1.ClosedByParentAnnotation] != "true" {
			return fmt.Errorf("it does not say why it is closed: %v", q.Annotations)
		}
		return nil
	})
}
