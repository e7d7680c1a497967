package main

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// burst measures how many bindings per second muster writes, from the start of
// its process, for gangs that are there already. All of them fit.
func (b *bench) burst(ctx context.Context, s shape, profile string) (got speed, err error) {
	if err := b.clear(ctx); err != nil {
		return speed{}, err
	}
	name := func(gang int) string { return fmt.Sprintf("gang-%d", gang) }
	err = each(ctx, s.gangs, func(ctx context.Context, i int) error { return b.addGang(ctx, name(i), s.size) })
	if err != nil {
		return speed{}, err
	}
	err = each(ctx, s.pods(), func(ctx context.Context, i int) error {
		_, err := b.addPod(ctx, name(i/s.size), i%s.size)
		return err
	})
	if err != nil {
		return speed{}, err
	}
	before, begin := readUsage(), time.Now()
	muster, err := b.startScheduler()
	if err != nil {
		return speed{}, err
	}
	defer muster.stop()
	profiled := make(chan error, 1)
	if profile == "" {
		profiled <- nil
	} else {
		go func() {
			tick := time.NewTicker(10 * time.Millisecond)
			defer tick.Stop()
			for range tick.C {
				if _, err := muster.metric(ctx, "volcano_binds_total"); err == nil || ctx.Err() != nil {
					break
				}
			}
			profiled <- muster.profile(ctx, 10, profile)
		}()
	}
	first, err := muster.awaitBinds(ctx, s.pods())
	if err != nil {
		return speed{}, err
	}
	took := time.Since(begin)
	used := readUsage().since(before)
	posts, patches, err := muster.requests(ctx)
	if err != nil {
		return speed{}, err
	}
	_, most := memory(muster.cmd.Process.Pid)
	if err := <-profiled; err != nil {
		return speed{}, err
	}
	bound, err := b.countBound(ctx)
	if err == nil && bound != s.pods() {
		err = fmt.Errorf("muster says that it bound %d pods, the API server has %d", s.pods(), bound)
	}
	got = speedOf(s.pods(), took, used)
	b.results.line("burst/gangs="+s.String(),
		value{took.Seconds(), "s"}, value{got.clock, "bind/s"}, value{got.alone, "alone-bind/s"}, value{first.Sub(begin).Seconds(), "first-s"},
		value{used.muster, "muster-cpu-s"}, value{most, "muster-MiB"},
		value{posts, "posts"}, value{patches, "patches"},
		value{used.self, "client-cpu-s"}, value{used.server, "server-cpu-s"}, value{used.others, "others-cpu-s"})
	return got, errors.Join(err, ctx.Err())
}
