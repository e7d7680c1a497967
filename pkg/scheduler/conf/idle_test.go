package conf_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/muster-sh/muster/pkg/scheduler/engine"
)

func TestWhatHasNoEffectIsSaid(t *testing.T) {
	const remembered = "verdicts are remembered in any case, until what they depend on changes"
	tests := map[string]struct {
		text string
		want []string // after "line 1: "
	}{
		"nothing": {`tiers: [{plugins: [{name: drf, arguments: {drf.enableHierarchy: false}}]}]`, nil},
		"a weight of an order": {
			`tiers: [{plugins: [{name: drf, arguments: {drf.weight: 2}}]}]`,
			[]string{`plugin "drf": argument drf.weight has no effect here: an order has no use for a weight, half of every share is in the same order`},
		},
		"how volumes are rated and bound": {
			`tiers: [{plugins: [{name: predicates, arguments: {volumebinding.weight: 2, volumebinding.shape: [], volumebinding.bindTimeoutSeconds: 30, predicate.CacheEnable: true}}]}]`,
			[]string{
				`plugin "predicates": argument predicate.CacheEnable has no effect here: ` + remembered,
				`plugin "predicates": argument volumebinding.bindTimeoutSeconds has no effect here: no cycle waits for a volume: the pod's turn comes again until it is bound`,
				`plugin "predicates": argument volumebinding.weight has no effect here: how full volumes are rates no node`,
				`plugin "predicates": argument volumebinding.shape has no effect here: how full volumes are rates no node`,
			},
		},
		"a switch that is off": {
			`tiers: [{plugins: [{name: gang, enableJobStarving: false, enableJobPipelined: true}]}]`,
			[]string{`plugin "gang": enableJobStarving has no effect here: Muster decides this for itself`},
		},
		"a hierarchy that is switched off": {
			`tiers: [{plugins: [{name: capacity, enableHierarchy: false}]}]`,
			[]string{`plugin "capacity": argument enableHierarchy has no effect here: queues without parents but root are no hierarchy, and those with parents are within theirs`},
		},
		"plugins that lack what they need": {
			`tiers: [{plugins: [{name: usage}, {name: rescheduling, arguments: {metricsPeriod: 5m}}]}]`,
			[]string{
				`plugin "rescheduling": argument metricsPeriod has no effect here: usage is averaged over ten minutes`,
				`plugin "usage" has no effect here: it is read nowhere what nodes use: configure metrics`,
				`plugin "rescheduling" has no effect here: it is read nowhere what nodes use: configure metrics`,
				`plugin "rescheduling" has no effect here: no action carries it out: configure shuffle`,
			},
		},
		"a node that need not take who goes": {
			`{actions: 'allocate, shuffle', tiers: [{plugins: [{name: rescheduling, arguments: {strategies: [{name: lowNodeUtilization, params: {nodeFit: false, numberOfNodes: 2}}]}}]}], metrics: {type: prometheus, address: 'http://p:9090'}}`,
			[]string{`plugin "rescheduling": argument nodeFit has no effect here: nobody goes for whom no idle node has room`},
		},
		"how victims are looked for": {
			`configurations: [{name: preempt, arguments: {enableTopologyAwarePreemption: false, topologyAwarePreemptWorkerNum: 4, minCandidateNodesPercentage: 20, minCandidateNodesAbsolute: 2, maxCandidateNodesAbsolute: 50}}, {name: gangpreempt, arguments: {maxDomains: 4, allowWholeBundle: false}}]`,
			[]string{
				`configurations: action "preempt": argument enableTopologyAwarePreemption has no effect here: affinity and topology spread are always asked again once victims are gone`,
				`configurations: action "preempt": argument topologyAwarePreemptWorkerNum has no effect here: victims are counted, not tried on node after node`,
				`configurations: action "preempt": argument minCandidateNodesPercentage has no effect here: all nodes are candidates`,
				`configurations: action "preempt": argument minCandidateNodesAbsolute has no effect here: all nodes are candidates`,
				`configurations: action "preempt": argument maxCandidateNodesAbsolute has no effect here: all nodes are candidates`,
				`configurations: action "gangpreempt": argument maxDomains has no effect here: victims are looked for among all nodes, not in one domain after the other`,
			},
		},
		"urgent gangs that may take nothing": {
			`{actions: "enqueue, allocate, gangpreempt", tiers: [{plugins: [{name: slo, arguments: {slo.preempt: true, slo.reclaim: true}}]}]}`,
			[]string{`plugin "slo": argument slo.reclaim has no effect here: no action lets gangs take from others: configure reclaim`},
		},
		"arguments of actions": {
			`{configurations: [{name: allocate, arguments: {predicateErrorCacheEnable: false}}], metrics: {type: prometheus, address: 'http://p:9090'}}`,
			[]string{`configurations: action "allocate": argument predicateErrorCacheEnable has no effect here: ` + remembered, "metrics has no effect here: no plugin looks at what nodes use: configure usage or rescheduling"},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := parse(tt.text)
			if err != nil {
				t.Fatal(err)
			}
			var want []string
			for _, said := range tt.want {
				want = append(want, "line 1: "+said)
			}
			if diff := cmp.Diff(want, got.Idle); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// TestArgumentsOfActionsAreGivenToThem: in whatever order a text says it, and again when
// it is read from what was written of it.
func TestArgumentsOfActionsAreGivenToThem(t *testing.T) {
	const args = "configurations: [{name: gangpreempt, arguments: {allowWholeBundle: 'false'}}]\n"
	const actions = "actions: 'allocate, preempt, gangpreempt'\n"
	for _, text := range []string{args + actions, actions + args} {
		for range 2 {
			config, err := parse(text)
			if err != nil {
				t.Fatal(err)
			}
			for _, a := range config.Actions[1:] {
				if taking, ok := a.(engine.Takes); !ok || taking.Breaks() != (a.Name() == "preempt") {
					t.Errorf("%s: action %s breaks gangs, or takes nothing: %v", text, a.Name(), a)
				}
			}
			text = show(t, config)
		}
	}
	for _, wrong := range []string{"maxDomains: 0", "allowWholeBundle: perhaps", "wholeBundle: true"} {
		if _, err := parse("configurations: [{name: gangreclaim, arguments: {" + wrong + "}}]"); err == nil {
			t.Errorf("%s is accepted", wrong)
		}
	}
	if _, err := parse("configurations: [{name: preempt, arguments: {minCandidateNodesPercentage: 101}}]"); err == nil {
		t.Error("101 percent of all nodes are accepted")
	}
}
