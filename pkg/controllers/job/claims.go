package job

import (
	"fmt"
	"hash/fnv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/muster-sh/muster/apis"
	batchv1alpha1 "github.com/muster-sh/muster/apis/batch/v1alpha1"
)

// claimName is the claim of a volume of a job: the one that it names, else one of its own
// that is the same each time it is asked for.
func claimName(job *batchv1alpha1.Job, volume int) string {
	if name := job.Spec.Volumes[volume].VolumeClaimName; name != "" {
		return name
	}
	hash := fnv.New64a()
	fmt.Fprintf(hash, "%s/%d", job.UID, volume)
	return fmt.Sprintf("%s-pvc-%012x", job.Name, hash.Sum64()&(1<<48-1))
}

// claims returns the volume claims that are to be made, and which are missing that others
// have to make.
func (s *sight) claims() (toMake []apis.Object, absent string) {
	var names []string
	for i, v := range s.job.Spec.Volumes {
		name := claimName(s.job, i)
		switch {
		case s.Claims[name]:
		case v.VolumeClaim == nil:
			names = append(names, name)
		default:
			toMake = append(toMake, &corev1.PersistentVolumeClaim{
				ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: s.job.Namespace, OwnerReferences: ownerOf(s.job)},
				Spec:       *v.VolumeClaim.DeepCopy(),
			})
		}
	}
	return toMake, strings.Join(names, ", ")
}
