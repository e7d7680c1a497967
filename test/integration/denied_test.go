package integration_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	apiresource "k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	schedulingv1beta1 "github.com/muster-sh/muster/apis/scheduling/v1beta1"
	"github.com/muster-sh/muster/test/cluster"
)

// configured is a world of so many nodes in which Muster has that configuration.
func configured(t *testing.T, nodes int, conf string, flags ...string) *world {
	t.Helper()
	w := newWorld(t, cluster.Config{Nodes: nodes})
	path := filepath.Join(t.TempDir(), "volcano-scheduler.conf")
	replace(t, path, conf)
	w.restart(t, append(flags, "--scheduler-conf="+path)...)
	return w
}

// TestAnotherVictimIsChosenWhenTheEvictionAPIRefusesTheFirst has a budget that Muster is not
// configured to look at: the Eviction API answers 429 for the gang that should go first, and
// the plan is made anew with another.
func TestAnotherVictimIsChosenWhenTheEvictionAPIRefusesTheFirst(t *testing.T) {
	w := configured(t, 2, strings.Replace(confTakes, ", {name: pdb}", "", 1))
	ns := w.Namespace(t)
	w.slow(t, ns, "victim")
	w.slow(t, ns, "safe") // started last, and would go first
	t.Cleanup(func() { w.unfinalize(t, ns) })
	w.protect(t, ns, "safe")
	asked := w.disrupted(t, ns, corev1.PodReasonPreemptionByScheduler, "PodGroup "+ns+"/high")
	w.urgent(t, ns, "high", 4)
	w.pods(t, ns, "high", 4)
	w.leaving(t, ns, "victim", 8)
	eventually(t, func(ctx context.Context) error {
		if n := asked(); n != 8 {
			return fmt.Errorf("%d of 8 pods say who needs their room", n)
		}
		told, err := w.core.CoreV1().Events(ns).List(ctx, metav1.ListOptions{FieldSelector: "reason=FailedEviction"})
		if err != nil || len(told.Items) == 0 {
			return fmt.Errorf("nobody says that an eviction failed (%w)", err)
		}
		for i := range told.Items {
			if of, said := told.Items[i].InvolvedObject.Name, told.Items[i].Message; !strings.HasPrefix(of, "safe-") || !strings.Contains(said, "disruption budget") {
				return fmt.Errorf("%s is told %q", of, said)
			}
		}
		return nil
	})
	w.leaving(t, ns, "safe", 0)
	w.unfinalize(t, ns)
	w.allBound(t, ns, "high", 4)
	w.allBound(t, ns, "safe", 8)
}

// TestAGangThatCanNotBeWholeAgainIsReleased takes a pod from a gang that needs all it has.
func TestAGangThatCanNotBeWholeAgainIsReleased(t *testing.T) {
	w := configured(t, 1, strings.Replace(confTakes, "{name: gang}", "{name: gang, arguments: {gang-repair-timeout: 3s}}", 1))
	ns := w.Namespace(t)
	w.podGroup(t, ns, "broken", 4, "default")
	w.pods(t, ns, "broken", 4)
	w.podGroup(t, ns, "sound", 2, "default")
	w.pods(t, ns, "sound", 3)
	w.allBound(t, ns, "broken", 4)
	w.allBound(t, ns, "sound", 3)
	for _, gang := range []string{"broken", "sound"} {
		if err := w.Delete(t.Context(), member(ns, gang, 0, 1)); err != nil {
			t.Fatal(err)
		}
	}
	w.allBound(t, ns, "broken", 0)
	w.allBound(t, ns, "sound", 2)
	if err := w.counts(t.Context(), `volcano_evictions_total{reason="Unrepaired"} 3`); err != nil {
		t.Error(err)
	}
	eventually(t, func(ctx context.Context) error {
		return w.event(ctx, ns, "Pod", "broken-1", "its gang could not be made whole again within 3s: of 4 that it needs, 3 are left")
	})
}

// TestEvictionsAreReplayed records a scheduler that preempts, and plays that back.
func TestEvictionsAreReplayed(t *testing.T) {
	recording := filepath.Join(t.TempDir(), "run.jsonl")
	w := configured(t, 2, confTakes, "--record="+recording)
	ns := w.Namespace(t)
	w.queue(t, "owner", schedulingv1beta1.QueueSpec{Deserved: gpuList(8)})
	w.podGroup(t, ns, "loose", 4, "default")
	w.pods(t, ns, "loose", 16)
	w.allBound(t, ns, "loose", 16)
	w.podGroup(t, ns, "mine", 6, "owner")
	w.pods(t, ns, "mine", 6)
	w.allBound(t, ns, "mine", 6)
	w.urgent(t, ns, "high", 4)
	w.pods(t, ns, "high", 4)
	w.allBound(t, ns, "high", 4)
	if err := w.Terminate(t.Context(), cluster.Muster); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(recording)
	if err != nil {
		t.Fatal(err)
	}
	for _, why := range []string{"Reclaimed", "Preempted"} {
		if !strings.Contains(string(text), fmt.Sprintf(`"code":%q`, why)) {
			t.Errorf("nothing in the recording was %s", why)
		}
	}
	for range 2 {
		if out, err := w.replay(t, recording); err != nil || !strings.Contains(out, "all as recorded") {
			t.Fatalf("%v: %s", err, out)
		}
	}
}

// TestAnOwnerReclaimsDevicesOfAClass has a gang hold all eight devices that there are, of
// which four are deserved by another queue.
func TestAnOwnerReclaimsDevicesOfAClass(t *testing.T) {
	w := configured(t, 2, confTakes)
	ns := w.Namespace(t)
	w.makeDevices(t)
	w.queue(t, "owner", schedulingv1beta1.QueueSpec{Deserved: corev1.ResourceList{gpuCount: apiresource.MustParse("4")}})
	w.queue(t, "lender", schedulingv1beta1.QueueSpec{Deserved: corev1.ResourceList{gpuCount: apiresource.MustParse("4")}})
	w.make(t, &resourcev1.ResourceClaimTemplate{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "own"}, Spec: resourcev1.ResourceClaimTemplateSpec{Spec: gpuClaim(1, "")}})
	own := corev1.PodResourceClaim{ResourceClaimTemplateName: new("own")}
	w.podGroup(t, ns, "lent", 2, "lender")
	w.use(t, ns, "lent", 8, own)
	w.allBound(t, ns, "lent", 8)
	w.podGroup(t, ns, "mine", 4, "owner")
	w.use(t, ns, "mine", 4, own)
	w.allBound(t, ns, "mine", 4)
	w.allBound(t, ns, "lent", 4)
	w.allocated(t, "owner", gpuCount, "4")
	if err := w.counts(t.Context(), `volcano_evictions_total{reason="Reclaimed"} 4`); err != nil {
		t.Error(err)
	}
}

// aloneClaim makes a claim that one pod at a time may use, and a volume for it.
func (w *world) aloneClaim(t *testing.T, ns, name string) {
	t.Helper()
	modes := []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOncePod}
	size := corev1.ResourceList{corev1.ResourceStorage: apiresource.MustParse("1Gi")}
	w.make(t, &corev1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: ns},
		Spec: corev1.PersistentVolumeSpec{
			Capacity: size, AccessModes: modes, ClaimRef: &corev1.ObjectReference{Namespace: ns, Name: name},
			PersistentVolumeSource: corev1.PersistentVolumeSource{CSI: &corev1.CSIPersistentVolumeSource{Driver: "disk.example.com", VolumeHandle: ns}},
		},
	})
	w.make(t, &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: name},
		Spec: corev1.PersistentVolumeClaimSpec{
			AccessModes: modes, StorageClassName: new(""), VolumeName: ns, Resources: corev1.VolumeResourceRequirements{Requests: size},
		},
	})
}

// TestAVolumeThatOnePodMayUseIsTakenFromIt has room for all, but a volume for one at a time.
func TestAVolumeThatOnePodMayUseIsTakenFromIt(t *testing.T) {
	w := configured(t, 2, confTakes)
	ns := w.Namespace(t)
	w.aloneClaim(t, ns, "disk")
	uses := func(gang string) {
		t.Helper()
		p := member(ns, gang, 0, 1)
		p.Spec.Volumes = []corev1.Volume{{Name: "disk", VolumeSource: corev1.VolumeSource{
			PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "disk"},
		}}}
		w.create(t, ns, p)
	}
	w.podGroup(t, ns, "low", 1, "default")
	uses("low")
	w.single(t, ns, "other", "default", 1)
	w.allBound(t, ns, "low", 1)
	w.allBound(t, ns, "other", 1)
	w.urgent(t, ns, "high", 1)
	uses("high")
	w.allBound(t, ns, "high", 1)
	w.allBound(t, ns, "low", 0)
	w.allBound(t, ns, "other", 1)
	if err := w.counts(t.Context(), `volcano_evictions_total{reason="Preempted"} 1`); err != nil {
		t.Error(err)
	}
}
