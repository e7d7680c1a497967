package v1beta1

// Annotations that tie pods, workloads and namespaces to PodGroups and queues.
const (
	// GroupNameAnnotation on a pod names its PodGroup.
	GroupNameAnnotation = "scheduling.k8s.io/group-name"
	// VolcanoGroupNameAnnotation on a pod is another spelling of GroupNameAnnotation.
	VolcanoGroupNameAnnotation = "scheduling.volcano.sh/group-name"
	// QueueNameAnnotation on a pod, workload or namespace names the queue; a namespace's is the default for all in it.
	QueueNameAnnotation = "scheduling.volcano.sh/queue-name"
	// GroupMinMemberAnnotation on a workload is the minMember of the PodGroup made for it.
	GroupMinMemberAnnotation = "scheduling.volcano.sh/group-min-member"
	// GroupMinResourcesAnnotation on a workload is the minResources of the PodGroup made for it.
	GroupMinResourcesAnnotation = "scheduling.volcano.sh/group-min-resources"
	// SLODeadlineAnnotation on a job is the instant (RFC 3339) by which it should be done.
	SLODeadlineAnnotation = "scheduling.volcano.sh/slo-deadline"
	// SLORunningEstimateAnnotation is how long a job runs, as in 1h30m. Who makes the PodGroup of a Job writes its runningEstimate there.
	SLORunningEstimateAnnotation = "scheduling.volcano.sh/slo-running-estimate"
	// SLOProgressAnnotation is what a job has done of its work, as in 0.4 or 40%. The job keeps it up to date.
	SLOProgressAnnotation = "scheduling.volcano.sh/slo-progress"
	// SLOMinThroughputAnnotation is how fast a job should be at least, in a unit of its own.
	SLOMinThroughputAnnotation = "scheduling.volcano.sh/slo-min-throughput"
	// SLOThroughputAnnotation is how fast a job is, in that unit. The job keeps it up to date.
	SLOThroughputAnnotation = "scheduling.volcano.sh/slo-throughput"
	// SLOMinReplicasAnnotation is how many pods a service should never have less of.
	SLOMinReplicasAnnotation = "scheduling.volcano.sh/slo-min-replicas"
	// QueueAllocationGate is the name of a scheduling gate, and of the annotation that asks for it.
	QueueAllocationGate = "scheduling.volcano.sh/queue-allocation-gate"

	// TaskSpecAnnotation on a pod, as annotation or label, is its role: what minTaskMember counts.
	TaskSpecAnnotation = "volcano.sh/task-spec"
	// AnnotationPrefix is shared by the annotations that are copied from a workload to its PodGroup.
	AnnotationPrefix = "volcano.sh/"
	// TaskPriorityAnnotation on a pod is its priority among the tasks of its gang, in place
	// of that of its class.
	TaskPriorityAnnotation = "volcano.sh/task-priority"
	// PreemptableAnnotation says whether a pod or PodGroup may be a victim.
	PreemptableAnnotation = "volcano.sh/preemptable"
	// CooldownTimeAnnotation is how long after its start a pod may not be a victim.
	CooldownTimeAnnotation = "volcano.sh/cooldown-time"
	// RevocableZoneAnnotation names the zones whose time windows a pod may use.
	RevocableZoneAnnotation = "volcano.sh/revocable-zone"
	// JDBMinAvailableAnnotation is how many pods of a job must not be disturbed.
	JDBMinAvailableAnnotation = "volcano.sh/jdb-min-available"
	// JDBMaxUnavailableAnnotation is how many pods of a job may be disturbed at once.
	JDBMaxUnavailableAnnotation = "volcano.sh/jdb-max-unavailable"
	// NUMATopologyPolicyAnnotation is a pod's NUMA policy.
	NUMATopologyPolicyAnnotation = "volcano.sh/numa-topology-policy"
	// QoSLevelAnnotation is a pod's service level for node agents.
	QoSLevelAnnotation = "volcano.sh/qos-level"
	// SLAWaitingTimeAnnotation bounds how long a gang waits before room is reserved for it.
	SLAWaitingTimeAnnotation = "volcano.sh/sla-waiting-time"
	// TaskTopologyAffinityAnnotation lists roles to be placed together.
	TaskTopologyAffinityAnnotation = "volcano.sh/task-topology-affinity"
	// TaskTopologyAntiAffinityAnnotation lists roles to be placed apart.
	TaskTopologyAntiAffinityAnnotation = "volcano.sh/task-topology-anti-affinity"
	// TaskTopologyTaskOrderAnnotation orders roles for placement.
	TaskTopologyTaskOrderAnnotation = "volcano.sh/task-topology-task-order"
	// HierarchyAnnotation on a Queue is its path for hierarchical fairness.
	HierarchyAnnotation = "volcano.sh/hierarchy"
	// HierarchyWeightsAnnotation on a Queue holds the weights along its path.
	HierarchyWeightsAnnotation = "volcano.sh/hierarchy-weights"
	// ClosedByParentAnnotation on a Queue is "true" while it is closed only because a queue above it is.
	ClosedByParentAnnotation = "volcano.sh/closed-by-parent"
	// ResourceStrategyScoringTypeAnnotation chooses how a pod's nodes are scored by resource.
	ResourceStrategyScoringTypeAnnotation = "volcano.sh/resource-strategy-scoring-type"
	// ResourceStrategyWeightAnnotation weighs resources for that score.
	ResourceStrategyWeightAnnotation = "volcano.sh/resource-strategy-weight"
	// NetworkTopologyModeAnnotation is a workload's topology mode, hard or soft.
	NetworkTopologyModeAnnotation = "volcano.sh/network-topology-mode"
	// NetworkTopologyHighestTierAnnotation is the highest tier a workload may span.
	NetworkTopologyHighestTierAnnotation = "volcano.sh/network-topology-highest-tier"

	// NodeGroupLabel on a node names the group that queue affinity speaks of.
	NodeGroupLabel = "volcano.sh/nodegroup-name"
)

const (
	// DefaultQueue is the queue of those who name none.
	DefaultQueue = "default"
	// RootQueue is above all queues that name no parent.
	RootQueue = "root"
	// PodGroupNamePrefix begins the names of PodGroups that are made for a workload; its UID follows.
	PodGroupNamePrefix = "podgroup-"
)
