package v1alpha1_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/google/go-cmp/cmp"

	batchv1alpha1 "github.com/muster-sh/muster/apis/batch/v1alpha1"
)

func flat() *batchv1alpha1.VCJob {
	v := &batchv1alpha1.VCJob{ObjectMeta: metav1.ObjectMeta{Namespace: "ml", Name: "bert", UID: "u", Generation: 7, Annotations: map[string]string{
		"volcano.sh/preemptable": "true", corev1.LastAppliedConfigAnnotation: "{}",
	}}}
	v.Spec = batchv1alpha1.VCJobSpec{
		Queue: "research", MinAvailable: 4, Plugins: map[string][]string{"pytorch": {"--port=1"}},
		RunPolicy: batchv1alpha1.RunPolicy{MaxRetry: new(int32(0)), TTLSecondsAfterFinished: new(int32(60))},
		Tasks: []batchv1alpha1.VCTaskSpec{
			{Name: "master", Replicas: 1, RestartPolicy: corev1.RestartPolicyOnFailure, Pod: batchv1alpha1.VCPodSpec{
				Image: "i", Command: []string{"train"}, NodeSelector: map[string]string{"a": "b"},
				Volumes: []corev1.Volume{{Name: "shm", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{Medium: corev1.StorageMediumMemory}}}},
			}},
			{Replicas: 2, Resources: corev1.ResourceRequirements{Limits: corev1.ResourceList{"nvidia.com/gpu": resource.MustParse("8")}}, Pod: batchv1alpha1.VCPodSpec{
				Volumes:      []corev1.Volume{{Name: "ram", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{Medium: corev1.StorageMediumMemory}}}},
				VolumeMounts: []corev1.VolumeMount{{Name: "ram", MountPath: "/ram"}},
			}},
		},
	}
	return v
}

func TestAVCJobStandsForAJob(t *testing.T) {
	v := flat()
	job := v.Job()
	if !metav1.IsControlledBy(job, v) || job.Name != "bert" || job.Namespace != "ml" {
		t.Errorf("%+v", job.ObjectMeta)
	}
	if diff := cmp.Diff(map[string]string{"volcano.sh/preemptable": "true", batchv1alpha1.VCJobGenerationKey: "7"}, job.Annotations); diff != "" {
		t.Error(diff)
	}
	asked := flat().Spec.Tasks
	template := func(spec corev1.PodSpec) corev1.PodTemplateSpec { return corev1.PodTemplateSpec{Spec: spec} }
	shared := []corev1.VolumeMount{{Name: "shm", MountPath: "/dev/shm"}}
	want := batchv1alpha1.JobSpec{
		SchedulerName: "volcano", Queue: "research", MinAvailable: 3, MaxRetry: 1, TTLSecondsAfterFinished: new(int32(60)), Plugins: flat().Spec.Plugins,
		Tasks: []batchv1alpha1.TaskSpec{
			{Name: "master", Replicas: 1, MinAvailable: new(int32(1)), MaxRetry: 3, Template: template(corev1.PodSpec{
				RestartPolicy: corev1.RestartPolicyOnFailure, NodeSelector: map[string]string{"a": "b"}, Volumes: asked[0].Pod.Volumes,
				Containers: []corev1.Container{{Name: "master", Image: "i", Command: []string{"train"}, VolumeMounts: shared}},
			})},
			{Name: "default1", Replicas: 2, MinAvailable: new(int32(2)), MaxRetry: 3, Template: template(corev1.PodSpec{
				Volumes: asked[1].Pod.Volumes, Containers: []corev1.Container{{Name: "default1", Resources: asked[1].Resources, VolumeMounts: asked[1].Pod.VolumeMounts}},
			})},
		},
	}
	if diff := cmp.Diff(want, job.Spec); diff != "" {
		t.Error(diff)
	}
}

func TestWhichPodsOfAVCJobGo(t *testing.T) {
	p := batchv1alpha1.RunPolicy{CleanUpTaskPolicy: []batchv1alpha1.CleanUpTaskPolicy{
		{Action: "Delete", Task: "all", When: batchv1alpha1.Completed}, {Action: "Retain", Task: "master", When: batchv1alpha1.Completed}, {Action: "Delete", When: batchv1alpha1.Failed},
	}}
	for c, want := range map[[2]string]bool{
		{"worker", "Completed"}: true, {"master", "Completed"}: false, {"master", "Failed"}: true, {"worker", "Aborted"}: false, {"worker", "Running"}: false,
	} {
		if got := p.CleansUp(c[0], batchv1alpha1.JobPhase(c[1])); got != want {
			t.Errorf("pods of %s when %s: %v", c[0], c[1], got)
		}
	}
}
