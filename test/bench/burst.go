package main

import (
	"context"
	"fmt"
	"time"
)

// burst measures how many bindings per second muster writes, from the start of
// its process, for gangs that are there already. All of them fit.
func (b *bench) burst(ctx context.Context, s shape, profile string) (got trial, err error) {
	if err := b.clear(ctx); err != nil {
		return trial{}, err
	}
	name := func(gang int) string { return fmt.Sprintf("gang-%d", gang) }
	err = each(ctx, s.gangs, func(ctx context.Context, i int) error { return b.addGang(ctx, name(i), s.size) })
	if err != nil {
		return trial{}, err
	}
	err = each(ctx, s.pods(), func(ctx context.Context, i int) error {
		_, err := b.addPod(ctx, name(i/s.size), i%s.size)
		return err
	})
	if err != nil {
		return trial{}, err
	}
	if err := b.settle(ctx); err != nil {
		return trial{}, err
	}
	before, begin := readUsage(), time.Now()
	muster, err := b.startScheduler()
	if err != nil {
		return trial{}, err
	}
	defer muster.stop()
	profiled := make(chan error, 1)
	if profile == "" {
		profiled <- nil
	} else {
		go func() {
			if _, err := muster.awaitBinds(ctx, 0); err != nil {
				profiled <- err
				return
			}
			profiled <- muster.profile(ctx, 10, profile)
		}()
	}
	first, err := muster.awaitBinds(ctx, s.pods())
	if err != nil {
		return trial{}, err
	}
	took := time.Since(begin)
	used := readUsage().since(before)
	posts, patches, err := muster.requests(ctx)
	if err != nil {
		return trial{}, err
	}
	_, most := memory(muster.cmd.Process.Pid)
	if err := <-profiled; err != nil {
		return trial{}, err
	}
	bound, err := b.countBound(ctx)
	if err != nil {
		return trial{}, err
	}
	if bound != s.pods() {
		return trial{}, fmt.Errorf("muster says that it bound %d pods, the API server has %d", s.pods(), bound)
	}
	rate := speedOf(s.pods(), took, used)
	return trial{rate, "burst/gangs=" + s.String(), []value{
		{took.Seconds(), "s"},
		{rate.clock, "bind/s"},
		{rate.alone, "alone-bind/s"},
		{first.Sub(begin).Seconds(), "first-s"},
		{used.muster, "muster-cpu-s"},
		{most, "muster-MiB"},
		{posts, "posts"},
		{patches, "patches"},
		{used.self, "client-cpu-s"},
		{used.server, "server-cpu-s"},
		{used.others, "others-cpu-s"},
	}}, nil
}
