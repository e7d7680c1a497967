package main

import (
	"context"
	"runtime"
	"time"
)

// speed is bindings per second: by the clock, and as it would be if no other
// program had used the processors meanwhile. On a quiet machine both are equal.
type speed struct{ clock, alone float64 }

func speedOf(pods int, took time.Duration, used usage) speed {
	clock := float64(pods) / took.Seconds()
	left := 1 - used.others/(took.Seconds()*float64(runtime.NumCPU()))
	return speed{clock: clock, alone: clock / max(left, 0.1)}
}

// trial is one measurement: a speed, and the line that tells of it.
type trial struct {
	speed
	name   string
	values []value
}

// disturbed is the part of the processors' time, of 1, that other programs had.
func (t trial) disturbed() float64 { return 1 - t.clock/t.alone }

// quiet is the part that they may have.
const quiet = 0.03

// quietly measures, again where other programs disturbed it, and prints the
// trial that counts: who shares the processors' caches is slow in other ways too.
func (b *bench) quietly(ctx context.Context, measure func(context.Context) (trial, error)) (speed, error) {
	var best trial
	for n := range b.patience + 1 {
		t, err := measure(ctx)
		if err != nil {
			return speed{}, err
		}
		if n == 0 || t.disturbed() < best.disturbed() {
			best = t
		}
		if best.disturbed() <= quiet {
			break
		}
		say("%s was disturbed: other programs had %.0f%% of the processors", t.name, 100*t.disturbed())
	}
	b.results.line(best.name, best.values...)
	return best.speed, nil
}

// settle waits until other programs have left the processors alone for a second,
// at most for a while: some never do.
func (b *bench) settle(ctx context.Context) error {
	if b.patience == 0 {
		return nil
	}
	for range 45 {
		before := readUsage()
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(time.Second):
		}
		if readUsage().since(before).others <= quiet*float64(runtime.NumCPU()) {
			return nil
		}
	}
	return nil
}
