package main

import (
	"context"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// raw measures how many bindings per second a client gets written that watches
// nothing and decides nothing: the most that a scheduler can hope for here.
func (b *bench) raw(ctx context.Context, pods, workers int) (trial, error) {
	if err := b.clear(ctx); err != nil {
		return trial{}, err
	}
	made := make([]*corev1.Pod, pods)
	err := each(ctx, pods, func(ctx context.Context, i int) (err error) {
		made[i], err = b.addPod(ctx, "raw", i)
		return err
	})
	if err != nil {
		return trial{}, err
	}
	core, err := protobuf(b.cluster.RESTConfig())
	if err != nil {
		return trial{}, err
	}
	if err := b.settle(ctx); err != nil {
		return trial{}, err
	}
	before, begin := readUsage(), time.Now()
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(workers)
	for i, pod := range made {
		group.Go(func() error {
			err := core.CoreV1().Pods(namespace).Bind(ctx, &corev1.Binding{
				ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: pod.Name, UID: pod.UID},
				Target:     corev1.ObjectReference{Kind: "Node", Name: b.world.nodes[i/gpusPerNode]},
			}, metav1.CreateOptions{})
			if err != nil {
				return fmt.Errorf("bind %s: %w", pod.Name, err)
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return trial{}, err
	}
	took := time.Since(begin)
	used := readUsage().since(before)
	got := speedOf(pods, took, used)
	return trial{got, fmt.Sprintf("raw/workers=%d", workers), []value{
		{took.Seconds(), "s"},
		{got.clock, "bind/s"},
		{got.alone, "alone-bind/s"},
		{used.self, "client-cpu-s"},
		{used.server, "server-cpu-s"},
		{used.others, "others-cpu-s"},
	}}, nil
}
