// Package compat_test holds Muster's wire types against upstream's Go types.
package compat_test

import (
	"encoding/json"
	"fmt"
	"math/rand"
	"reflect"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/randfill"
	upbatch "volcano.sh/apis/pkg/apis/batch/v1alpha1"
	upbus "volcano.sh/apis/pkg/apis/bus/v1alpha1"
	upflow "volcano.sh/apis/pkg/apis/flow/v1alpha1"
	upnodeinfo "volcano.sh/apis/pkg/apis/nodeinfo/v1alpha1"
	upscheduling "volcano.sh/apis/pkg/apis/scheduling/v1beta1"
	uptopology "volcano.sh/apis/pkg/apis/topology/v1alpha1"

	batchv1alpha1 "github.com/muster-sh/muster/apis/batch/v1alpha1"
	busv1alpha1 "github.com/muster-sh/muster/apis/bus/v1alpha1"
	flowv1alpha1 "github.com/muster-sh/muster/apis/flow/v1alpha1"
	nodeinfov1alpha1 "github.com/muster-sh/muster/apis/nodeinfo/v1alpha1"
	schedulingv1beta1 "github.com/muster-sh/muster/apis/scheduling/v1beta1"
	topologyv1alpha1 "github.com/muster-sh/muster/apis/topology/v1alpha1"
)

// rounds is how many random objects of each kind make the trip.
const rounds = 300

// filler fills objects with values that survive JSON: times in whole seconds,
// quantities in canonical form, and no raw extensions.
func filler(seed int64) *randfill.Filler {
	return randfill.New().RandSource(rand.NewSource(seed)).NilChance(0.2).NumElements(1, 3).MaxDepth(20).Funcs(
		func(t *metav1.Time, c randfill.Continue) { *t = metav1.Unix(1+c.Int63n(1<<32), 0) },
		func(t *metav1.MicroTime, c randfill.Continue) {
			*t = metav1.NewMicroTime(time.Unix(1+c.Int63n(1<<32), 0))
		},
		func(d *metav1.Duration, c randfill.Continue) { d.Duration = time.Duration(1 + c.Int63n(1<<40)) },
		func(q *resource.Quantity, c randfill.Continue) {
			*q = resource.MustParse(fmt.Sprintf("%dMi", 1+c.Int63n(1000)))
		},
		func(v *intstr.IntOrString, c randfill.Continue) { *v = intstr.FromInt32(1 + c.Int31n(1000)) },
		func(r *runtime.RawExtension, _ randfill.Continue) { *r = runtime.RawExtension{} },
		func(f *metav1.FieldsV1, _ randfill.Continue) { *f = metav1.FieldsV1{Raw: []byte("{}")} },
	)
}

// TestUpstreamObjectsSurviveOurTypes sends random upstream objects through JSON
// into our types and back, and compares JSON with JSON: what upstream writes, we
// read and write again unchanged.
func TestUpstreamObjectsSurviveOurTypes(t *testing.T) {
	tests := map[string]struct{ upstream, ours any }{
		"Job":          {upbatch.Job{}, batchv1alpha1.Job{}},
		"CronJob":      {upbatch.CronJob{}, batchv1alpha1.CronJob{}},
		"PodGroup":     {upscheduling.PodGroup{}, schedulingv1beta1.PodGroup{}},
		"Queue":        {upscheduling.Queue{}, schedulingv1beta1.Queue{}},
		"Command":      {upbus.Command{}, busv1alpha1.Command{}},
		"JobFlow":      {upflow.JobFlow{}, flowv1alpha1.JobFlow{}},
		"JobTemplate":  {upflow.JobTemplate{}, flowv1alpha1.JobTemplate{}},
		"HyperNode":    {uptopology.HyperNode{}, topologyv1alpha1.HyperNode{}},
		"Numatopology": {upnodeinfo.Numatopology{}, nodeinfov1alpha1.Numatopology{}},
	}
	for kind, tt := range tests {
		t.Run(kind, func(t *testing.T) {
			for seed := range int64(rounds) {
				sent := reflect.New(reflect.TypeOf(tt.upstream)).Interface()
				filler(seed).Fill(sent)
				// What upstream itself does not read back, such as a pointer to a nil map, is nobody's loss.
				own := reflect.New(reflect.TypeOf(tt.upstream)).Interface()
				if err := json.Unmarshal(encode(t, sent), own); err != nil {
					t.Fatalf("seed %d: %v", seed, err)
				}
				want := encode(t, own)
				read := reflect.New(reflect.TypeOf(tt.ours)).Interface()
				if err := json.Unmarshal(want, read); err != nil {
					t.Fatalf("seed %d: %v", seed, err)
				}
				back := reflect.New(reflect.TypeOf(tt.upstream)).Interface()
				if err := json.Unmarshal(encode(t, read), back); err != nil {
					t.Fatalf("seed %d: back: %v", seed, err)
				}
				if diff := cmp.Diff(string(want), string(encode(t, back))); diff != "" {
					t.Fatalf("seed %d: lost on the way:\n%s", seed, diff)
				}
			}
		})
	}
}

func encode(t *testing.T, o any) []byte {
	t.Helper()
	text, err := json.MarshalIndent(o, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return text
}
