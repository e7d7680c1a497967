package framework_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/muster-sh/muster/pkg/model"
	"github.com/muster-sh/muster/pkg/quota"
	"github.com/muster-sh/muster/pkg/reason"
	"github.com/muster-sh/muster/pkg/scheduler/framework"
)

// TestWhatLeavesAndWhatIsHeldForOthersCountOnce: a reader can add up what is said.
func TestWhatLeavesAndWhatIsHeldForOthersCountOnce(t *testing.T) {
	for name, tt := range map[string]struct {
		over quota.Over
		want reason.Shortage
	}{
		"nothing leaves": {
			quota.Over{Need: 8, Used: 16, Limit: 16},
			reason.Shortage{Need: "8", Used: "16", Limit: "16", Short: "8"},
		},
		"as much as is held": {
			quota.Over{Need: 8, Used: 24, Aside: 8, Leaving: 8, Limit: 16},
			reason.Shortage{Need: "8", Used: "8", Leaving: "8", Aside: "8", Limit: "16", Short: "8"},
		},
		"more than is held": {
			quota.Over{Need: 8, Used: 20, Aside: 4, Leaving: 8, Limit: 16},
			reason.Shortage{Need: "8", Used: "8", Leaving: "8", Aside: "4", Limit: "16", Short: "4"},
		},
		"nothing is held, and all will be well": {
			quota.Over{Need: 8, Used: 16, Leaving: 8, Limit: 16},
			reason.Shortage{Need: "8", Used: "8", Leaving: "8", Limit: "16", Short: "8", Passing: true},
		},
		"held without anybody's leaving": {
			quota.Over{Need: 8, Used: 24, Aside: 8, Limit: 16},
			reason.Shortage{Need: "8", Used: "16", Aside: "8", Limit: "16", Short: "16"},
		},
		"kept for others as well": {
			quota.Over{Need: 2, Used: 12, Aside: 2, Leaving: 2, Kept: 4, Limit: 14},
			reason.Shortage{Need: "2", Used: "8", Leaving: "2", Aside: "2", Kept: "4", Limit: "14", Short: "2"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			tt.want.Resource = "gpu"
			if diff := cmp.Diff(tt.want, framework.ShortageOf("gpu", tt.over)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// wishful wants a task to go, whichever it is.
type wishful struct{}

func (wishful) Name() string                                    { return "wishful" }
func (wishful) Wishes(*model.World, time.Time) []framework.Wish { return []framework.Wish{{Why: "so"}} }
func (wishful) WishesAt() (time.Time, bool)                     { return time.Unix(1, 0), true }

// TestWhoIsNotToDismissIsNotAsked: enabledVictim: false leaves the tasks where they are.
func TestWhoIsNotToDismissIsNotAsked(t *testing.T) {
	for off, want := range map[framework.Abilities]int{0: 1, framework.Switches()["enabledVictim"].Ability: 0} {
		tiers := framework.Compose([][]framework.Enabled{{{Plugin: wishful{}, Off: off}}})
		if got := tiers.Wishes(nil, time.Time{}); len(got) != want {
			t.Errorf("off %d: %d wishes, want %d", off, len(got), want)
		}
	}
}
