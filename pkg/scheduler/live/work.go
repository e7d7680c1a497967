package live

import (
	"context"
	"sync"

	"github.com/go-logr/logr"
	"k8s.io/client-go/util/workqueue"
)

// work does the keys of a queue, so many at once and never one twice at once,
// until the queue is shut down and empty. What fails is done again, later each time.
func work(ctx context.Context, workers int, queue workqueue.TypedRateLimitingInterface[string], do func(context.Context, string) error) {
	var wait sync.WaitGroup
	for range workers {
		wait.Go(func() {
			for {
				key, end := queue.Get()
				if end {
					return
				}
				if err := do(ctx, key); err != nil {
					logr.FromContextOrDiscard(ctx).Error(err, "write status", "object", key)
					queue.AddRateLimited(key)
				} else {
					queue.Forget(key)
				}
				queue.Done(key)
			}
		})
	}
	wait.Wait()
}
