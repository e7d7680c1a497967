package live

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	schedulingv1beta1 "github.com/muster-sh/muster/apis/scheduling/v1beta1"
)

func TestAPatchTakesAwayWhatIsNoLongerSo(t *testing.T) {
	allocated := func(names ...corev1.ResourceName) *schedulingv1beta1.Queue {
		q := &schedulingv1beta1.Queue{ObjectMeta: metav1.ObjectMeta{Name: "q", UID: "u"}}
		q.Status.Allocated = corev1.ResourceList{}
		for _, name := range names {
			q.Status.Allocated[name] = resource.MustParse("8")
		}
		return q
	}
	patch, err := difference(allocated("cpu", "nvidia.com/gpu"), allocated("cpu"))
	if err != nil {
		t.Fatal(err)
	}
	text, err := patch.Data(nil)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(`{"metadata":{"uid":"u"},"status":{"allocated":{"nvidia.com/gpu":null}}}`, string(text)); diff != "" {
		t.Error(diff)
	}
	running := func(n int32) *schedulingv1beta1.PodGroup {
		return &schedulingv1beta1.PodGroup{ObjectMeta: metav1.ObjectMeta{Name: "g", UID: "u"}, Status: schedulingv1beta1.PodGroupStatus{Running: n}}
	}
	if patch, err = difference(running(2), running(0)); err != nil {
		t.Fatal(err)
	}
	if text, err = patch.Data(nil); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(`{"metadata":{"uid":"u"},"status":{"running":null}}`, string(text)); diff != "" {
		t.Error(diff)
	}
}
