package v1alpha1

import "strconv"

// Labels and annotations on the pods of a Job. The role of a pod is scheduling's TaskSpecAnnotation.
const (
	TaskIndex        = "volcano.sh/task-index"
	JobNameKey       = "volcano.sh/job-name"
	JobNamespaceKey  = "volcano.sh/job-namespace"
	QueueNameKey     = "volcano.sh/queue-name"
	JobVersion       = "volcano.sh/job-version"
	JobRetryCountKey = "volcano.sh/job-retry-count"
	PodTemplateKey   = "volcano.sh/template-uid" // <job>-<task>
	PartitionIDKey   = "volcano.sh/partition-id"
)

// CronJobTimeKey is the annotation on a Job of a CronJob with the time at which it was due, RFC 3339.
const CronJobTimeKey = "volcano.sh/cronjob-scheduled-timestamp"

// PodName is the name of the pod of a task with an index, from 0.
func PodName(job, task string, index int) string {
	return job + "-" + task + "-" + strconv.Itoa(index)
}

// VCJobGenerationKey is the annotation on a Job with the generation of the VCJob that it is made from.
const VCJobGenerationKey = "volcano.sh/vcjob-generation"
