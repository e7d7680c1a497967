package v1alpha1_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	batchv1alpha1 "github.com/muster-sh/muster/apis/batch/v1alpha1"
)

func TestARunningEstimateIsAnAnnotationOfThePodGroup(t *testing.T) {
	tests := map[string]struct {
		estimate *metav1.Duration
		want     map[string]string
	}{
		"none":             {nil, nil},
		"an hour and half": {&metav1.Duration{Duration: 90 * time.Minute}, map[string]string{"scheduling.volcano.sh/slo-running-estimate": "1h30m0s"}},
		"nothing":          {&metav1.Duration{}, nil},
		"less":             {&metav1.Duration{Duration: -time.Hour}, nil},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, batchv1alpha1.EstimateAnnotation(&batchv1alpha1.JobSpec{RunningEstimate: tt.estimate})); diff != "" {
				t.Error(diff)
			}
		})
	}
}
