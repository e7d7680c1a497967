package live

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

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

// TestConditionsOfOthersAreNotWrittenOver: a patch replaces the list of conditions, so
// it must be of the newest one.
func TestConditionsOfOthersAreNotWrittenOver(t *testing.T) {
	group := func(version string, types ...schedulingv1beta1.PodGroupConditionType) *schedulingv1beta1.PodGroup {
		pg := &schedulingv1beta1.PodGroup{ObjectMeta: metav1.ObjectMeta{Name: "g", UID: "u", ResourceVersion: version}}
		for _, kind := range types {
			pg.Status.Conditions = append(pg.Status.Conditions, schedulingv1beta1.PodGroupCondition{Type: kind})
		}
		return pg
	}
	patch, err := difference(group("7"), group("7", "Unschedulable"))
	if err != nil {
		t.Fatal(err)
	}
	text, err := patch.Data(nil)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(text), `"metadata":{"resourceVersion":"7","uid":"u"}`) {
		t.Errorf("the patch replaces whatever there is: %s", text)
	}
	ours := group("9", "Unschedulable")
	v := verdict{written: &ours.Status, version: "9"}
	for name, tt := range map[string]struct {
		cached *schedulingv1beta1.PodGroup
		want   int // conditions
	}{
		"the cache lags":                    {group("8"), 1},
		"the cache has what was written":    {group("9", "Unschedulable"), 1},
		"somebody else wrote after that":    {group("10", "Unschedulable", "Theirs"), 2},
		"versions are compared as numbers":  {group("100", "Unschedulable", "Theirs"), 2},
		"a version that nobody understands": {group("", "Unschedulable", "Theirs"), 2},
	} {
		v.latest(tt.cached)
		if got := len(tt.cached.Status.Conditions); got != tt.want {
			t.Errorf("%s: %d conditions, want %d", name, got, tt.want)
		}
	}
}

// TestAPatchForAnotherObjectIsOutdated: the API server calls it invalid, for objects of a CRD.
func TestAPatchForAnotherObjectIsOutdated(t *testing.T) {
	kind := schema.GroupKind{Group: "scheduling.volcano.sh", Kind: "PodGroup"}
	refused := func(path ...string) error {
		return apierrors.NewInvalid(kind, "g", field.ErrorList{field.Invalid(field.NewPath("metadata", path...), "u", "field is immutable")})
	}
	for _, c := range []struct {
		err  error
		want bool
	}{
		{refused("uid"), true},
		{fmt.Errorf("patch: %w", refused("uid")), true},
		{apierrors.NewConflict(schema.GroupResource{}, "g", nil), true},
		{refused("name"), false},
		{apierrors.NewNotFound(schema.GroupResource{}, "g"), false},
		{nil, false},
	} {
		if got := outdated(c.err); got != c.want {
			t.Errorf("%v: %v, want %v", c.err, got, c.want)
		}
	}
}
