package v1beta1_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	schedulingv1beta1 "github.com/muster-sh/muster/apis/scheduling/v1beta1"
)

func TestGuaranteeReadsBothWaysAndWritesWhatItRead(t *testing.T) {
	cpu4, cpu8, gpu := resource.MustParse("4"), resource.MustParse("8"), resource.MustParse("16")
	tests := map[string]struct {
		text   string
		want   corev1.ResourceList
		unread []string
	}{
		"nothing is guaranteed by an empty one": {`{}`, nil, nil},
		"as upstream writes it":                 {`{"resource":{"cpu":"4"}}`, corev1.ResourceList{"cpu": cpu4}, nil},
		"flat":                                  {`{"cpu":"4","nvidia.com/gpu":"16"}`, corev1.ResourceList{"cpu": cpu4, "nvidia.com/gpu": gpu}, nil},
		"the field resource wins over flat":     {`{"cpu":"4","resource":{"cpu":"8"}}`, corev1.ResourceList{"cpu": cpu8}, nil},
		"no quantity, no guarantee, no error":   {`{"cpu":"4","gpus":"lots","memory":null,"more":{"a":[1]}}`, corev1.ResourceList{"cpu": cpu4}, []string{"gpus", "memory", "more"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			var g schedulingv1beta1.Guarantee
			if err := json.Unmarshal([]byte(tt.text), &g); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, g.All()); diff != "" {
				t.Errorf("guaranteed: %s", diff)
			}
			if diff := cmp.Diff(tt.unread, g.Unread()); diff != "" {
				t.Errorf("unread: %s", diff)
			}
			back, err := json.Marshal(*g.DeepCopy())
			if err != nil {
				t.Fatal(err)
			}
			if string(back) != tt.text {
				t.Errorf("written %s, read %s", back, tt.text)
			}
		})
	}
}

func TestGuaranteeTakesANumberForAQuantity(t *testing.T) {
	var g schedulingv1beta1.Guarantee
	if err := json.Unmarshal([]byte(`{"cpu":4}`), &g); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(corev1.ResourceList{"cpu": resource.MustParse("4")}, g.All()); diff != "" {
		t.Error(diff)
	}
}
