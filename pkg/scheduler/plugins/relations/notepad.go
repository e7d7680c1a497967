package relations

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"

	"github.com/muster-sh/muster/pkg/scheduler/framework"
)

// notepad stands where kube-scheduler's plugins expect a client. It reaches
// nothing: it notes what they want written, for the edge to write.
type notepad struct {
	kubernetes.Interface // all else; nil
	writes               []framework.Write
}

// take returns what was noted, and begins anew.
func (n *notepad) take() []framework.Write {
	writes := n.writes
	n.writes = nil
	return writes
}

func (n *notepad) CoreV1() typedcorev1.CoreV1Interface { return core{pad: n} }

type core struct {
	typedcorev1.CoreV1Interface
	pad *notepad
}

func (c core) PersistentVolumes() typedcorev1.PersistentVolumeInterface { return volumes{pad: c.pad} }

func (c core) PersistentVolumeClaims(string) typedcorev1.PersistentVolumeClaimInterface {
	return volumeClaims{pad: c.pad}
}

type volumes struct {
	typedcorev1.PersistentVolumeInterface
	pad *notepad
}

func (v volumes) Update(_ context.Context, pv *corev1.PersistentVolume, _ metav1.UpdateOptions) (*corev1.PersistentVolume, error) {
	v.pad.writes = append(v.pad.writes, framework.Write{Object: pv})
	return pv, nil
}

type volumeClaims struct {
	typedcorev1.PersistentVolumeClaimInterface
	pad *notepad
}

func (v volumeClaims) Update(_ context.Context, pvc *corev1.PersistentVolumeClaim, _ metav1.UpdateOptions) (*corev1.PersistentVolumeClaim, error) {
	v.pad.writes = append(v.pad.writes, framework.Write{Object: pvc})
	return pvc, nil
}
