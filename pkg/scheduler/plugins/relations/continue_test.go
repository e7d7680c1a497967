package relations_test

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/muster-sh/muster/pkg/scheduler/framework"
)

// reconfigure lets the plugin go on with other arguments, as the engine does.
func (w *world) reconfigure(args framework.Args, objects []runtime.Object) {
	lasts, ok := w.plugin.(framework.Continues)
	fresh, also := w.made(args).(framework.Plugin)
	if !ok || !also {
		w.Fatal("the plugin does not go on")
	}
	if err := lasts.Continue(fresh); err != nil {
		w.Fatal(err)
	}
	for _, o := range objects {
		w.plugin.Learn(o, false)
	}
	w.plugin.Begin(w.World, time.Time{})
}

// TestWhatIsBeingBoundIsKeptThroughANewConfiguration: a pod was given a volume, or
// devices, which nobody else may have, until it is bound or its binding fails.
func TestWhatIsBeingBoundIsKeptThroughANewConfiguration(t *testing.T) {
	const none = "cannot allocate all claims"
	for name, tt := range map[string]struct {
		objects []runtime.Object
		asks    func(claim string) func(*corev1.Pod)
		off     string // the switch after which nobody looks
		taken   string // what is said to the second
	}{
		"a volume": {
			[]runtime.Object{class("c", "kubernetes.io/no-provisioner"), claim("one", "c", ""), claim("two", "c", ""), volume("v", "")},
			mount, "predicate.VolumeBindingEnable", noVolume,
		},
		"devices": {
			[]runtime.Object{deviceClass(), gpus("x1", 1), deviceClaim("one"), deviceClaim("two")},
			device, "predicate.DynamicResourceAllocationEnable", none,
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, nil)
			n := w.node("x1", "x")
			for _, o := range tt.objects {
				w.plugin.Learn(o, false)
			}
			first, second := w.task(pod("one", "a", tt.asks("one")), "ns/g", ""), w.task(pod("two", "a", tt.asks("two")), "ns/g", "")
			j := w.judge(first)
			expect(t, w, j, map[string]string{"x1": ""})
			w.put(j, first, n)
			w.Commit()
			for range 2 {
				w.reconfigure(nil, tt.objects)
				expect(t, w, w.judge(second), map[string]string{"x1": tt.taken})
			}
			w.reconfigure(framework.Args{tt.off: false}, tt.objects)
			expect(t, w, w.judge(second), map[string]string{"x1": ""})
			w.reconfigure(nil, tt.objects)
			expect(t, w, w.judge(second), map[string]string{"x1": tt.taken})
			w.Unassume("one", "x1") // its binding is given up
			expect(t, w, w.judge(second), map[string]string{"x1": ""})
			w.reconfigure(nil, tt.objects)
			expect(t, w, w.judge(second), map[string]string{"x1": ""})
		})
	}
}

func deviceClass() *resourcev1.DeviceClass {
	c := &resourcev1.DeviceClass{}
	c.Name = "gpu"
	return c
}
