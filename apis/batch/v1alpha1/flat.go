package v1alpha1

import (
	"maps"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// sharedMemory is where programs look for memory that they share.
const sharedMemory = "/dev/shm"

// AllTasks names all tasks in a CleanUpTaskPolicy.
const AllTasks = "all"

// Job is the Job that a VCJob stands for, with defaults and with the VCJob as its controller.
// More pods than there are can't be asked to run together: all are then.
func (v *VCJob) Job() *Job {
	job := &Job{ObjectMeta: metav1.ObjectMeta{
		Name: v.Name, Namespace: v.Namespace, Labels: maps.Clone(v.Labels), Annotations: map[string]string{},
		OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(v, GroupVersion().WithKind("VCJob"))},
	}}
	maps.Copy(job.Annotations, v.Annotations)
	delete(job.Annotations, corev1.LastAppliedConfigAnnotation)
	job.Annotations[VCJobGenerationKey] = strconv.FormatInt(v.Generation, 10)
	spec := v.Spec.DeepCopy()
	job.Spec = JobSpec{
		SchedulerName: spec.SchedulerName, Queue: spec.Queue, MinAvailable: spec.MinAvailable, PriorityClassName: spec.PriorityClassName,
		Plugins: spec.Plugins, Policies: spec.Policies, TTLSecondsAfterFinished: spec.RunPolicy.TTLSecondsAfterFinished,
	}
	if most := spec.RunPolicy.MaxRetry; most != nil {
		job.Spec.MaxRetry = max(*most, 1) // with either the first restart is the end, and 0 would not be sent
	}
	var all int64
	for i := range spec.Tasks {
		all += int64(spec.Tasks[i].Replicas)
		job.Spec.Tasks = append(job.Spec.Tasks, spec.Tasks[i].task(i))
	}
	SetDefaults(job)
	job.Spec.MinAvailable = int32(min(int64(job.Spec.MinAvailable), all))
	return job
}

// task is the task with that number of a Job.
func (t *VCTaskSpec) task(number int) TaskSpec {
	task := TaskSpec{Name: t.Name, Replicas: t.Replicas, MinAvailable: t.MinAvailable, Policies: t.Policies}
	container := corev1.Container{
		Name: t.Name, Image: t.Pod.Image, ImagePullPolicy: t.Pod.ImagePullPolicy, Command: t.Pod.Command, Args: t.Pod.Args, WorkingDir: t.Pod.WorkingDir,
		Env: t.Pod.Env, EnvFrom: t.Pod.EnvFrom, Ports: t.Pod.Ports, VolumeMounts: t.Pod.mounts(), Resources: t.Resources, Lifecycle: t.Lifecycle,
	}
	if container.Name == "" {
		container.Name = defaultTask(number)
	}
	task.Template.Spec = corev1.PodSpec{
		RestartPolicy: t.RestartPolicy, Containers: []corev1.Container{container}, Volumes: t.Pod.Volumes, NodeSelector: t.Pod.NodeSelector,
		Affinity: t.Pod.Affinity, Tolerations: t.Pod.Tolerations, ServiceAccountName: t.Pod.ServiceAccountName,
		ImagePullSecrets: t.Pod.ImagePullSecrets, HostNetwork: t.Pod.HostNetwork, PriorityClassName: t.Pod.PriorityClassName,
	}
	return task
}

// mounts are those of the container; a volume in memory that is mounted nowhere is the memory
// that its processes share.
func (p *VCPodSpec) mounts() []corev1.VolumeMount {
	for i := range p.Volumes {
		v := &p.Volumes[i]
		named := slices.ContainsFunc(p.VolumeMounts, func(m corev1.VolumeMount) bool { return m.Name == v.Name || m.MountPath == sharedMemory })
		if v.EmptyDir != nil && v.EmptyDir.Medium == corev1.StorageMediumMemory && !named {
			return append(slices.Clone(p.VolumeMounts), corev1.VolumeMount{Name: v.Name, MountPath: sharedMemory})
		}
	}
	return p.VolumeMounts
}

// CleansUp reports whether the pods of a task go when the job has come to a phase. A policy that
// names the task goes before one for all, and of two of a kind the first.
func (p *RunPolicy) CleansUp(task string, phase JobPhase) bool {
	for _, name := range [][]string{{task}, {AllTasks, ""}} {
		for _, c := range p.CleanUpTaskPolicy {
			if c.When == phase && slices.Contains(name, c.Task) {
				return c.Action == CleanUpDelete
			}
		}
	}
	return false
}
