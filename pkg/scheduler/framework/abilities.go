package framework

import (
	"maps"
	"slices"
)

// Abilities is a set of what a plugin can do. A configuration may switch each off.
type Abilities uint16

// Abilities, one per interface that a configuration can switch off.
const (
	OrderQueues Abilities = 1 << iota
	OrderGangs
	OrderTasks
	AdmitGangs
	VoteOnGangs
	FilterNodes
	ScoreNodes
	Divide
	Preempt // victims within a queue
	Reclaim // victims of other queues
	Dismiss // tasks that go though nobody needs their room
)

// Switch is a key of volcano-scheduler.conf that switches an ability on or off.
type Switch struct {
	Ability Abilities
	// Argument: the key is handed to the plugin as an argument of that name.
	Argument bool
}

// Switches returns the keys that stand beside a plugin's name in
// volcano-scheduler.conf. Those that Muster decides for itself, such as whether a
// gang is ready, are known and change nothing.
func Switches() map[string]Switch {
	return map[string]Switch{
		"enableJobOrder":           {Ability: OrderGangs},
		"enableTaskOrder":          {Ability: OrderTasks},
		"enableQueueOrder":         {Ability: OrderQueues},
		"enabledSubJobOrder":       {},
		"EnabledClusterOrder":      {},
		"enableJobReady":           {Ability: AdmitGangs},
		"enableJobPipelined":       {},
		"enabledSubJobReady":       {},
		"enabledSubJobPipelined":   {},
		"enableJobStarving":        {},
		"enableJobEnqueued":        {Ability: VoteOnGangs},
		"enablePredicate":          {Ability: FilterNodes},
		"enableNodeOrder":          {Ability: ScoreNodes},
		"enableBestNode":           {},
		"enabledHyperNodeOrder":    {},
		"enabledHyperNodeGradient": {},
		"enabledOverused":          {Ability: Divide},
		"enabledAllocatable":       {},
		"enablePreemptable":        {Ability: Preempt},
		"enablePreemptive":         {},
		"enableReclaimable":        {Ability: Reclaim},
		"enabledVictim":            {Ability: Dismiss},
		"enableTargetJob":          {},
		"enableReservedNodes":      {},
		"enableHierarchy":          {Argument: true},
	}
}

// SwitchNames lists the keys of Switches in order.
func SwitchNames() []string { return slices.Sorted(maps.Keys(Switches())) }
