package v1alpha1

// Event is something that happens to a job and that a policy may answer.
type Event string

// Events. The last three are internal: a policy may not name them.
const (
	AnyEvent           Event = "*"
	PodPendingEvent    Event = "PodPending"
	PodRunningEvent    Event = "PodRunning"
	PodFailedEvent     Event = "PodFailed"
	PodEvictedEvent    Event = "PodEvicted"
	JobUnknownEvent    Event = "Unknown"
	TaskCompletedEvent Event = "TaskCompleted"
	TaskFailedEvent    Event = "TaskFailed"
	OutOfSyncEvent     Event = "OutOfSync"
	CommandIssuedEvent Event = "CommandIssued"
	JobUpdatedEvent    Event = "JobUpdated"
)

// Action is what a policy does about an event, or a Command asks for.
type Action string

// Actions. Those from SyncJob on are internal: a policy may not name them.
const (
	AbortJobAction         Action = "AbortJob"
	RestartJobAction       Action = "RestartJob"
	RestartTaskAction      Action = "RestartTask"
	RestartPodAction       Action = "RestartPod"
	RestartPartitionAction Action = "RestartPartition"
	TerminateJobAction     Action = "TerminateJob"
	CompleteJobAction      Action = "CompleteJob"
	ResumeJobAction        Action = "ResumeJob"
	OpenQueueAction        Action = "OpenQueue"
	CloseQueueAction       Action = "CloseQueue"
	SyncJobAction          Action = "SyncJob"
	EnqueueAction          Action = "EnqueueJob"
	SyncQueueAction        Action = "SyncQueue"
)
