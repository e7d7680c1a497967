package engine_test

import (
	"fmt"
	"testing"

	"github.com/muster-sh/muster/pkg/model"
	"github.com/muster-sh/muster/pkg/reason"
	"github.com/muster-sh/muster/pkg/scheduler/engine"
)

func TestAGangOfFiveThousandIsPlacedWholeOrNotAtAll(t *testing.T) {
	e := cluster(t, 624) // 4,992 GPUs
	submit(e, "big", 5000, 1)
	if placed := e.Run(start).Placed; placed != 0 {
		t.Fatalf("placed %d of a gang that is too large", placed)
	}
	if why, _ := e.Explain("big"); why.Code != reason.NeverFits || why.Need != 5000 || why.Empty != 4992 {
		t.Errorf("it waits for %+v", why)
	}
	e.Apply(node(624, 8))
	if placed := e.Run(start).Placed; placed != 5000 {
		t.Fatalf("placed %d of 5,000", placed)
	}
	if err := e.World.Check(); err != nil {
		t.Error(err)
	}
}

func TestTasksThatAskForNothingTakeNoRoom(t *testing.T) {
	e := cluster(t, 1)
	submit(e, "full", 8, 1)
	submit(e, "light", 3, 0)
	if placed := e.Run(start).Placed; placed != 11 {
		t.Errorf("placed %d, want all 11", placed)
	}
}

func TestMastersAndWorkersAreOneGang(t *testing.T) {
	e := cluster(t, 2)
	role := func(name string, i int, gpu int64) {
		s := task("train", i, gpu, "").Task
		s.Role = name
		e.Apply(engine.TaskSet{Task: s})
	}
	e.Apply(engine.GangSet{Gang: model.GangSpec{
		Key: "train", UID: "train", Queue: "q", Min: 3, Created: start,
		RoleMin: []model.RoleMin{{Role: "master", Min: 1}, {Role: "worker", Min: 2}},
	}})
	for i := range 4 {
		role("worker", i, 4)
	}
	if placed := e.Run(start).Placed; placed != 0 {
		t.Fatalf("placed %d without a master", placed)
	}
	role("master", 4, 1)
	e.Run(start)
	counts := map[string]int32{}
	for _, r := range e.World.GangOf("train").Roles {
		counts[r.Name] = r.Held()
	}
	// 16 GPUs hold the master and three workers; the fourth waits, as it is beyond the minimum.
	if fmt.Sprint(counts) != "map[master:1 worker:3]" {
		t.Errorf("placed %v", counts)
	}
}
