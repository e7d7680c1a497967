package reason_test

import (
	"math"
	"testing"

	"github.com/muster-sh/muster/pkg/reason"
)

// worded is a reason beside its sentence.
type worded struct {
	why  reason.Reason
	want string
}

func TestWhatIsNotAboutNodesHasItsWords(t *testing.T) {
	check(t, map[string]worded{
		"a pod whose group is missing": {
			reason.Reason{Code: reason.GangMissing, Object: "ml/bert"},
			"PodGroup ml/bert does not exist: create it, or correct the pod's annotation scheduling.k8s.io/group-name",
		},
		"a pod whose group came late": {
			reason.Reason{Code: reason.GangFound, Object: "ml/bert"},
			"PodGroup ml/bert exists now: its conditions say whether its pods wait, and why",
		},
		"a pod without group": {
			reason.Reason{Code: reason.NoGang},
			"the pod names no PodGroup: set its annotation scheduling.k8s.io/group-name to a PodGroup of its namespace, or create it through a workload that Muster knows",
		},
		"a value that can't be right": {
			reason.Reason{Code: reason.Invalid, Kind: "Queue", Object: "a", Field: "spec.capability[cpu]", Value: "-1", Remedy: "set it to 0 or more"},
			`Queue "a": spec.capability[cpu] is -1: set it to 0 or more`,
		},
		"something that can't be checked": {
			reason.Reason{Code: reason.Unsupported, Field: "hostPort 80", Remedy: "remove it"},
			"hostPort 80: remove it",
		},
		"a pod that lacks what it needs": {
			reason.Reason{Code: reason.Unplaceable, Object: "ml/p", Value: `persistentvolumeclaim "data" not found`},
			`pod ml/p can't be placed on any node: persistentvolumeclaim "data" not found`,
		},
		"a fault": {
			reason.Reason{Code: reason.Fault, Value: "index out of range"},
			"a fault in the scheduler keeps it from being tried until it is changed: index out of range; please report it",
		},
		"a binding that is refused": {
			reason.Reason{Code: reason.BindRefused, Object: "ml/p", Value: "denied"},
			"the API server refuses to bind pod ml/p: denied; it is tried again and again",
		},
		"a missing queue": {
			reason.Reason{Code: reason.QueueMissing, Object: "ai"},
			`queue "ai" does not exist: create it, or name another in spec.queue`,
		},
		"a closed queue": {
			reason.Reason{Code: reason.QueueClosed, Object: "ai", Value: "Closing"},
			`queue "ai" is Closing and admits nothing new: open it, or name another in spec.queue`,
		},
		"a queue at its ceiling": {
			reason.Reason{Code: reason.QueueCapability, Object: "ai", Short: []reason.Shortage{{Resource: "nvidia.com/gpu", Need: "32", Used: "32", Limit: "32", Short: "32"}}},
			`queue "ai" would exceed its capability: nvidia.com/gpu needs 32, 32 of 32 used (short 32)`,
		},
		"what others are guaranteed": {
			reason.Reason{Code: reason.QueueGuarantee, Short: []reason.Shortage{{Resource: "cpu", Need: "4", Used: "2", Kept: "3", Limit: "8", Short: "1"}}},
			"what is guaranteed to other queues leaves too little in the cluster: cpu needs 4, 2 of 8 used and 3 kept (short 1)",
		},
		"a guarantee that is more than there is": {
			reason.Reason{
				Code: reason.QueueGuarantee, Remedy: "that is more than there is, lower a guarantee or add nodes",
				Short:   []reason.Shortage{{Resource: "cpu", Need: "4", Used: "2", Kept: "98", Limit: "8", Short: "96"}},
				Keepers: []reason.Keeper{{Queue: "big", Resource: "cpu", Kept: "90", Guarantee: "90"}, {Queue: "b", Resource: "cpu", Kept: "8", Guarantee: "10"}},
			},
			`what is guaranteed to other queues leaves too little in the cluster: cpu needs 4, 2 of 8 used and 98 kept (short 96); ` +
				`kept are 90 of cpu for queue "big", whose guarantee is 90, 8 of cpu for queue "b", whose guarantee is 10: that is more than there is, lower a guarantee or add nodes`,
		},
		"a gang before it": {
			reason.Reason{Code: reason.BehindHead, Object: "ai", Value: "ml/bert"},
			`queue "ai" serves strictly in order, and ml/bert waits before it`,
		},
		"sub-groups that lack pods": {
			reason.Reason{Code: reason.NotEnoughParts, Role: "ring", Need: 2, Have: 1},
			`needs 2 whole sub-groups of "ring", pods exist for 1`,
		},
		"pods that do not exist yet": {
			reason.Reason{Code: reason.NotEnoughTasks, Role: "worker", Need: 3, Have: 1},
			`role "worker" needs 3, only 1 exist (short 2)`,
		},
		"pods behind gates": {
			reason.Reason{Code: reason.Gated, Need: 3, Have: 1},
			"the gang needs 3, only 1 are free of scheduling gates (short 2)",
		},
	})
}

func TestDeadlinesHaveTheirWords(t *testing.T) {
	check(t, map[string]worded{
		"a deadline that is too soon": {
			reason.Reason{Code: reason.DeadlineTooSoon, Value: "2026-06-01T00:00:00Z", Field: "progress", Need: 7200, Have: 60, Remedy: "move it"},
			"the deadline 2026-06-01T00:00:00Z can't be met: by its progress 2h0m0s of work remain, and 1m0s until then: move it",
		},
		"a deadline that has passed": {
			reason.Reason{Code: reason.DeadlineMissed, Value: "2026-06-01T00:00:00Z"},
			"the deadline 2026-06-01T00:00:00Z has passed, and it is not done",
		},
	})
}

func TestWhatIsAboutNodesHasItsWords(t *testing.T) {
	check(t, map[string]worded{
		"nodes without room": {
			reason.Reason{Code: reason.NotEnoughNodes, Role: "worker", Need: 4, Room: 1, Total: 3, Nodes: []reason.Tally{{Cause: "insufficient nvidia.com/gpu", Nodes: 2}}},
			`role "worker" needs 4, room for 1 (short 3); of 3 nodes: 2 insufficient nvidia.com/gpu`,
		},
		"a cluster without nodes": {
			reason.Reason{Code: reason.NotEnoughNodes, Need: 4},
			"the gang needs 4, room for 0 (short 4); there are no nodes",
		},
		"more than the cluster could ever hold": {
			reason.Reason{Code: reason.NeverFits, Need: 4, Empty: 2, Total: 2, Nodes: []reason.Tally{{Cause: "insufficient nvidia.com/gpu", Nodes: 2}}},
			"the gang needs 4, and even with all nodes empty only 2 would fit: ask for less, or add nodes; of 2 nodes: 2 insufficient nvidia.com/gpu",
		},
		"nodes that it may not use": {
			reason.Reason{Code: reason.NeverFits, Need: 4, Barred: 8, Shut: 6, Each: "cpu 1", Total: 2, Nodes: []reason.Tally{{Cause: "untolerated taint a:NoSchedule", Nodes: 2}}},
			"the gang needs 4 with cpu 1 each, and even with all nodes empty only 0 would fit, but 8 more on nodes that it may not use, 6 of them now: change what keeps it off them; of 2 nodes: 2 untolerated taint a:NoSchedule",
		},
		"nodes that it may not use and that are full": {
			reason.Reason{Code: reason.NeverFits, Need: 4, Barred: 8, Shut: 3, Total: 2, Nodes: []reason.Tally{{Cause: "cordoned", Nodes: 2}}},
			"the gang needs 4, and even with all nodes empty only 0 would fit, but 8 more on nodes that it may not use, 3 of them now: change what keeps it off them and free room there, or add nodes that it may use; of 2 nodes: 2 cordoned",
		},
		"too few of those as well": {
			reason.Reason{Code: reason.NeverFits, Need: 4, Empty: 1, Barred: 2, Total: 2, Nodes: []reason.Tally{{Cause: "cordoned", Nodes: 1}}},
			"the gang needs 4, and even with all nodes empty only 1 would fit, and 2 more on nodes that it may not use: ask for less, or add nodes that it may use; of 2 nodes: 1 cordoned",
		},
		"room behind a taint, for who asks for nothing": {
			reason.Reason{Code: reason.NotEnoughNodes, Need: 4, Shut: math.MaxInt64, Total: 1, Nodes: []reason.Tally{{Cause: "untolerated taint a:NoSchedule", Nodes: 1}}},
			"the gang needs 4, room for 0 (short 4), and for any number on nodes that it may not use; of 1 nodes: 1 untolerated taint a:NoSchedule",
		},
		"several causes": {
			reason.Reason{
				Code: reason.QueueCapability, Object: "ai", Short: []reason.Shortage{{Resource: "cpu", Need: "3", Used: "2", Limit: "4", Short: "1"}},
				Also: []reason.Reason{{Code: reason.NotEnoughNodes, Need: 3, Each: "cpu 1", Room: 1, Total: 1, Nodes: []reason.Tally{{Cause: "insufficient cpu", Nodes: 1}}}},
			},
			`queue "ai" would exceed its capability: cpu needs 3, 2 of 4 used (short 1); besides, the gang needs 3 with cpu 1 each, room for 1 (short 2); of 1 nodes: 1 insufficient cpu`,
		},
		"room that others leave, and that is held": {
			reason.Reason{Code: reason.QueueCapability, Object: "ai", Short: []reason.Shortage{
				{Resource: "cpu", Need: "3", Used: "2", Leaving: "2", Aside: "1", Limit: "4", Short: "2"},
				{Resource: "memory", Need: "3", Used: "1", Leaving: "2", Limit: "4", Short: "2", Passing: true},
			}},
			`queue "ai" would exceed its capability: cpu needs 3, 2 of 4 used, 1 held for others and 2 leaving (short 2); memory needs 3, 1 of 4 used and 2 leaving (short 2 until those are gone)`,
		},
		"minResources over what is free": {
			reason.Reason{Code: reason.NotEnoughCluster, Short: []reason.Shortage{{Resource: "cpu", Need: "4", Used: "7", Limit: "8", Short: "3"}}},
			"minResources exceed what is free in the cluster: cpu needs 4, 7 of 8 used (short 3)",
		},
	})
}

func TestVotesHaveTheirWords(t *testing.T) {
	check(t, map[string]worded{
		"minResources over what is free in a cluster that is counted more than once": {
			reason.Reason{Code: reason.NotEnoughCluster, Value: "1.2", Short: []reason.Shortage{{Resource: "cpu", Need: "4", Used: "7", Limit: "9600m", Short: "1400m"}}},
			"minResources exceed what is free in the cluster counted 1.2 times: cpu needs 4, 7 of 9600m used (short 1400m)",
		},
		"minResources over what a namespace may use": {
			reason.Reason{Code: reason.NamespaceQuota, Kind: "ResourceQuota", Object: "ml/gpus", Short: []reason.Shortage{{Resource: "requests.nvidia.com/gpu", Need: "4", Used: "6", Limit: "8", Short: "2"}}},
			"minResources exceed what ResourceQuota ml/gpus leaves: requests.nvidia.com/gpu needs 4, 6 of 8 used (short 2)",
		},
		"an extender that does not answer": {
			reason.Reason{Code: reason.ExtenderFailed, Object: "http://x/predicate", Value: "no answer within 1s"},
			"the scheduler extender at http://x/predicate can't be asked: no answer within 1s; it is tried again, or set extender.ignorable",
		},
		"an extender that says no": {
			reason.Reason{Code: reason.ExtenderRefused, Object: "http://x/overused", Value: `queue "ai" is overused`},
			`the scheduler extender at http://x/overused says no: queue "ai" is overused`,
		},
	})
}

func TestThoseWhoLeaveTheirNodesAreToldWhy(t *testing.T) {
	check(t, map[string]worded{
		"one that is less urgent": {
			reason.Reason{Code: reason.MoreUrgent, Kind: "PodGroup", Object: "ml/bert", Role: "research", Value: "2026-06-01T00:00:00Z", Need: 7200, Have: 10800},
			`its room is needed for PodGroup ml/bert of queue "research", whose deadline 2026-06-01T00:00:00Z is near: 2h0m0s of work remain, and 3h0m0s until then`,
		},
		"a pod": {
			reason.Reason{Code: reason.Shuffled, Kind: "Node", Object: "n1", Field: "tdm", Value: "revocable zone night is open 20:00-06:00"},
			"plugin tdm has it leave node n1: revocable zone night is open 20:00-06:00",
		},
		"for a queue whose part is one above it": {
			reason.Reason{Code: reason.Reclaimed, Kind: "PodGroup", Object: "ml/bert", Value: "chair", Field: "team", Role: "lender", Short: []reason.Shortage{{Resource: "nvidia.com/gpu", Used: "8", Limit: "4"}}},
			`its room is needed for PodGroup ml/bert of queue "chair" below queue "team", which has less than it deserves; queue "lender" has more: 8 of 4 nvidia.com/gpu`,
		},
		"for another of its gang": {
			reason.Reason{Code: reason.Swapped, Kind: "Pod", Object: "ml/head", Need: 9, Have: 3},
			"its room is needed for pod ml/head of its own gang, whose priority is 9, its own 3",
		},
		"one of its gang": {
			reason.Reason{Code: reason.Shuffled, Kind: "PodGroup", Object: "n1", Field: "tdm", Value: "revocable zone night is open 20:00-06:00"},
			"its gang goes as a whole, since plugin tdm has a pod of it leave node n1: revocable zone night is open 20:00-06:00",
		},
	})
}

// TestAutoscalersAreAskedOnlyWhereNodesHelp: who waits for quota, for his turn or for pods
// that do not exist is no reason to buy nodes.
func TestAutoscalersAreAskedOnlyWhereNodesHelp(t *testing.T) {
	tests := map[string]struct {
		why  reason.Reason
		want bool
	}{
		"nodes lack room":                        {reason.Reason{Code: reason.NotEnoughNodes}, true},
		"no node is large enough":                {reason.Reason{Code: reason.NeverFits}, true},
		"the cluster is full":                    {reason.Reason{Code: reason.NotEnoughCluster}, true},
		"guarantees leave too little of it":      {reason.Reason{Code: reason.QueueGuarantee}, true},
		"guarantees leave too little of a queue": {reason.Reason{Code: reason.QueueGuarantee, Object: "research"}, false},
		"a queue has its ceiling":                {reason.Reason{Code: reason.QueueCapability, Object: "research"}, false},
		"another is before it":                   {reason.Reason{Code: reason.BehindHead, Object: "research"}, false},
		"a namespace has its quota":              {reason.Reason{Code: reason.NamespaceQuota}, false},
		"its queue is closed":                    {reason.Reason{Code: reason.QueueClosed}, false},
		"room is being made":                     {reason.Reason{Code: reason.MakingRoom}, false},
		"its pods do not exist":                  {reason.Reason{Code: reason.NotEnoughTasks}, false},
		"nobody knows":                           {reason.Reason{Code: reason.ExtenderRefused}, true},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if got := tt.why.NodesHelp(); got != tt.want {
				t.Errorf("%v, want %v", got, tt.want)
			}
		})
	}
}

func check(t *testing.T, tests map[string]worded) {
	t.Helper()
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if got := tt.why.String(); got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
		})
	}
}
