package slo_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/muster-sh/muster/pkg/model"
)

// BenchmarkBegin measures the beginning of a cycle in which nothing happened, beside
// 10,000 gangs of which so many have a deadline.
func BenchmarkBegin(b *testing.B) {
	for _, promised := range []int{0, 100, 10_000} {
		b.Run(fmt.Sprintf("deadlines=%d", promised), func(b *testing.B) {
			s := newStage(b, nil)
			for i := range 10_000 {
				key := fmt.Sprintf("g%d", i)
				if i < promised {
					s.gang(key, "q", 1, deadline, in(time.Duration(i)*time.Hour), estimate, "1h")
				} else {
					s.gang(key, "q", 1)
				}
				s.tasks(key, 1, time.Time{}, model.NotEnded)
			}
			s.at(0)
			b.ReportAllocs()
			for b.Loop() {
				s.Begin(s.w, start)
			}
		})
	}
}
