package model_test

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apiresource "k8s.io/apimachinery/pkg/api/resource"

	"github.com/muster-sh/muster/pkg/model"
	"github.com/muster-sh/muster/pkg/resource"
)

func TestAmountsBeyondTheirRangeAreHeldAtItsEnd(t *testing.T) {
	l := corev1.ResourceList{}
	for name, text := range map[corev1.ResourceName]string{"cpu": "9223372036854775807", "memory": "16Ei", "gpu": "9223372036854775807", "low": "-16Ei", "ok": "7"} {
		l[name] = apiresource.MustParse(text)
	}
	want := resource.ListOf(map[string]int64{"cpu": math.MaxInt64, "memory": math.MaxInt64, "gpu": math.MaxInt64, "low": math.MinInt64, "ok": 7})
	if diff := cmp.Diff(want, model.Resources(l)); diff != "" {
		t.Error(diff)
	}
}
