package integration_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	batchv1alpha1 "github.com/muster-sh/muster/apis/batch/v1alpha1"
)

// TestWhatAJobNeedsIsMadeAgain while it runs: what plugins made, and who controls its pods.
func TestWhatAJobNeedsIsMadeAgain(t *testing.T) {
	w, ns := newJob(t, strings.Replace(vcjob("whole", "{event: PodEvicted, action: RestartJob}", long, long), "spec:\n", "spec:\n  plugins: {svc: []}\n", 1))
	w.becomes(t, ns, "whole", batchv1alpha1.Running, counted(3, 0, 0, 0))
	for name, o := range map[string]client.Object{"whole": &corev1.Service{}, "whole-svc": &corev1.ConfigMap{}, "whole ": &networkingv1.NetworkPolicy{}} {
		key := client.ObjectKey{Namespace: ns, Name: strings.TrimSpace(name)}
		if err := w.Get(t.Context(), key, o); err != nil {
			t.Fatal(err)
		}
		was := o.GetUID()
		if err := w.Delete(t.Context(), o); err != nil {
			t.Fatal(err)
		}
		eventually(t, func(ctx context.Context) error {
			if err := w.Get(ctx, key, o); err != nil || o.GetUID() == was {
				return fmt.Errorf("%T is that of before, or gone (%w)", o, err)
			}
			return nil
		})
	}
	if _, err := w.core.CoreV1().Pods(ns).Patch(t.Context(), "whole-worker-1", types.MergePatchType, []byte(`{"metadata":{"ownerReferences":null}}`), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, func(ctx context.Context) error {
		pods, err := w.podsOf(ctx, ns, "whole")
		if err != nil || len(pods) != 3 || metav1.GetControllerOf(pods["whole-worker-1"]) == nil {
			return fmt.Errorf("%d pods, one of them without a controller (%w)", len(pods), err)
		}
		return nil
	})
	w.becomes(t, ns, "whole", batchv1alpha1.Running, counted(3, 0, 0, 0))
}
