package job

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	batchv1alpha1 "github.com/muster-sh/muster/apis/batch/v1alpha1"
	schedulingv1beta1 "github.com/muster-sh/muster/apis/scheduling/v1beta1"
)

// missing lists the pods that are to be made now: none before the gang may go ahead, and
// those of a task that depends on others once those run.
func (s *sight) missing() (pods []*corev1.Pod, err error) {
	pg := s.group()
	if pg == nil || pg.Status.Phase == "" || pg.Status.Phase == schedulingv1beta1.PodGroupPending {
		return nil, nil
	}
	for i := range s.tasks {
		t := &s.tasks[i]
		if !s.mayStart(t.DependsOn) {
			continue
		}
		for index, pod := range t.pods {
			if pod != nil || s.Made[batchv1alpha1.PodName(s.job.Name, t.Name, index)] {
				continue
			}
			pod = s.pod(t.TaskSpec, index)
			for _, plugin := range s.Plugins {
				if err := plugin.Wire(pod, s.job, i, index); err != nil {
					return nil, fmt.Errorf("pod %s: %w", pod.Name, err)
				}
			}
			pods = append(pods, pod)
		}
	}
	return pods, nil
}

// mayStart reports whether the tasks that another waits for run: each has its minimum of
// pods that are ready or have succeeded.
func (s *sight) mayStart(d *batchv1alpha1.DependsOn) bool {
	if d == nil || len(d.Name) == 0 {
		return true
	}
	runs := func(name string) bool {
		i := slices.IndexFunc(s.tasks, func(t taskSight) bool { return t.Name == name })
		if i < 0 {
			return false
		}
		var up int32
		for _, pod := range s.tasks[i].pods {
			if pod != nil && !s.goes(pod) && (ready(pod) || pod.Status.Phase == corev1.PodSucceeded) {
				up++
			}
		}
		return up >= *s.tasks[i].MinAvailable
	}
	if d.Iteration == batchv1alpha1.IterationAny {
		return slices.ContainsFunc(d.Name, runs)
	}
	return !slices.ContainsFunc(d.Name, func(name string) bool { return !runs(name) })
}

func ready(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodRunning && slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}

// toPods are the annotations of a job that its pods take over where they have none of their own.
func toPods() []string {
	return []string{
		schedulingv1beta1.PreemptableAnnotation, schedulingv1beta1.CooldownTimeAnnotation, schedulingv1beta1.RevocableZoneAnnotation,
		schedulingv1beta1.JDBMinAvailableAnnotation, schedulingv1beta1.JDBMaxUnavailableAnnotation,
	}
}

// pod is a pod of a task as it is to be made, before plugins wire it.
func (s *sight) pod(t *batchv1alpha1.TaskSpec, index int) *corev1.Pod {
	job, template := s.job, t.Template.DeepCopy()
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name: batchv1alpha1.PodName(job.Name, t.Name, index), Namespace: job.Namespace, OwnerReferences: ownerOf(job),
			Labels: map[string]string{}, Annotations: map[string]string{}, Finalizers: template.Finalizers,
		},
		Spec: template.Spec,
	}
	maps.Copy(pod.Labels, template.Labels)
	maps.Copy(pod.Annotations, template.Annotations)
	for _, key := range toPods() {
		inherit(pod.Annotations, job.Annotations, key)
		if key == schedulingv1beta1.PreemptableAnnotation || key == schedulingv1beta1.CooldownTimeAnnotation {
			inherit(pod.Labels, job.Labels, key)
		}
	}
	number := strconv.Itoa(index)
	maps.Copy(pod.Labels, map[string]string{
		batchv1alpha1.TaskIndex: number, batchv1alpha1.JobNameKey: job.Name, batchv1alpha1.JobNamespaceKey: job.Namespace,
		batchv1alpha1.QueueNameKey: job.Spec.Queue, schedulingv1beta1.TaskSpecAnnotation: t.Name,
	})
	maps.Copy(pod.Annotations, map[string]string{
		batchv1alpha1.TaskIndex: number, schedulingv1beta1.TaskSpecAnnotation: t.Name, batchv1alpha1.JobNameKey: job.Name,
		batchv1alpha1.QueueNameKey: job.Spec.Queue, schedulingv1beta1.GroupNameAnnotation: groupName(job),
		batchv1alpha1.JobVersion: strconv.Itoa(int(job.Status.Version)), batchv1alpha1.PodTemplateKey: job.Name + "-" + t.Name,
		batchv1alpha1.JobRetryCountKey: strconv.Itoa(int(job.Status.RetryCount)),
	})
	if p := partitionOf(t, index); p >= 0 {
		pod.Labels[batchv1alpha1.PartitionIDKey] = strconv.Itoa(p)
	}
	if t.TopologyPolicy != "" {
		pod.Annotations[schedulingv1beta1.NUMATopologyPolicyAnnotation] = string(t.TopologyPolicy)
	}
	pod.Spec.SchedulerName = cmp.Or(pod.Spec.SchedulerName, job.Spec.SchedulerName)
	pod.Spec.PriorityClassName = cmp.Or(pod.Spec.PriorityClassName, job.Spec.PriorityClassName)
	mount(pod, job)
	return pod
}

// inherit takes over what a job says, unless its pod says something of its own.
func inherit(to, from map[string]string, key string) {
	value, said := from[key]
	if _, own := to[key]; said && !own {
		to[key] = value
	}
}

// mount gives every container of a pod the volumes of its job.
func mount(pod *corev1.Pod, job *batchv1alpha1.Job) {
	for i, v := range job.Spec.Volumes {
		name := fmt.Sprintf("job-volume-%d", i)
		pod.Spec.Volumes = append(pod.Spec.Volumes, corev1.Volume{
			Name:         name,
			VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: claimName(job, i)}},
		})
		for k := range pod.Spec.Containers {
			c := &pod.Spec.Containers[k]
			c.VolumeMounts = append(c.VolumeMounts, corev1.VolumeMount{Name: name, MountPath: v.MountPath})
		}
	}
}
