package integration_test

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	batchv1alpha1 "github.com/muster-sh/muster/apis/batch/v1alpha1"
	"github.com/muster-sh/muster/pkg/controllers"
	"github.com/muster-sh/muster/test/cluster"
)

// podsPerJob of the benchmark.
const podsPerJob = 5

// BenchmarkJobs measures how fast the pods of jobs are made and run, from when the first job
// is posted, and next to it how fast a client is that posts as many such pods and waits until
// they run. How many jobs: BENCH_JOBS (200); the promise is about 2,000.
func BenchmarkJobs(b *testing.B) {
	jobs := 200
	if n, err := strconv.Atoi(os.Getenv("BENCH_JOBS")); err == nil {
		jobs = n
	}
	crds, err := cluster.CRDs()
	if err != nil {
		b.Fatal(err)
	}
	binary, err := cluster.BuildMuster(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	nodes := jobs*podsPerJob/100 + 1
	c := cluster.Start(b, cluster.Config{Nodes: nodes, CRDs: []string{crds}})
	if err := c.StartMuster(b.Context(), binary, "--log-level=warn"); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = c.Kill(cluster.Muster) })
	scheme, err := controllers.Scheme()
	if err != nil {
		b.Fatal(err)
	}
	cfg := c.RESTConfig()
	cfg.QPS = -1
	api, err := client.New(cfg, client.Options{Scheme: scheme})
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		rate := func(post func(ctx context.Context, ns string, i int) error, n int) float64 {
			ns := c.Namespace(b)
			begin := time.Now()
			group, ctx := errgroup.WithContext(b.Context())
			group.SetLimit(16)
			for i := range n {
				group.Go(func() error { return post(ctx, ns, i) })
			}
			if err := group.Wait(); err != nil {
				b.Fatal(err)
			}
			awaitRunning(b, api, ns, jobs*podsPerJob)
			took := time.Since(begin)
			if err := api.DeleteAllOf(b.Context(), &batchv1alpha1.Job{}, client.InNamespace(ns), client.PropagationPolicy(metav1.DeletePropagationBackground)); err != nil {
				b.Fatal(err)
			}
			if err := api.DeleteAllOf(b.Context(), &corev1.Pod{}, client.InNamespace(ns), client.GracePeriodSeconds(0)); err != nil {
				b.Fatal(err)
			}
			return float64(jobs*podsPerJob) / took.Seconds()
		}
		spec := corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "i"}}}
		raw := rate(func(ctx context.Context, ns string, i int) error {
			pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: fmt.Sprint("raw-", i)}, Spec: *spec.DeepCopy()}
			pod.Spec.NodeName = fmt.Sprintf("node-%03d", i%nodes)
			return api.Create(ctx, pod)
		}, jobs*podsPerJob)
		made := rate(func(ctx context.Context, ns string, i int) error {
			job := &batchv1alpha1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: fmt.Sprint("job-", i)}}
			job.Spec.Tasks = []batchv1alpha1.TaskSpec{{Name: "t", Replicas: podsPerJob, Template: corev1.PodTemplateSpec{Spec: spec}}}
			return api.Create(ctx, job)
		}, jobs)
		b.ReportMetric(raw, "raw-pods/s")
		b.ReportMetric(made, "pods/s")
		b.ReportMetric(made/raw, "of-raw")
		for method, n := range requestsOf(b, c) {
			b.ReportMetric(n/float64(jobs*podsPerJob), method+"/pod")
		}
	}
}

// requestsOf counts what Muster asked the API server so far, by method.
func requestsOf(b *testing.B, c *cluster.Cluster) map[string]float64 {
	b.Helper()
	text, err := fetch(b.Context(), "http://"+c.MusterAddress()+"/metrics")
	if err != nil {
		b.Fatal(err)
	}
	sums := map[string]float64{}
	for line := range strings.Lines(text) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), "} ")
		_, method, has := strings.Cut(name, `method="`)
		n, err := strconv.ParseFloat(value, 64)
		if strings.HasPrefix(name, "rest_client_requests_total{") && has && err == nil {
			method, _, _ = strings.Cut(method, `"`)
			sums[method] += n
		}
	}
	return sums
}

// awaitRunning waits until so many pods of a namespace run.
func awaitRunning(b *testing.B, api client.Client, namespace string, want int) {
	b.Helper()
	tick := time.NewTicker(250 * time.Millisecond)
	defer tick.Stop()
	for {
		var pods corev1.PodList
		if err := api.List(b.Context(), &pods, client.InNamespace(namespace), client.UnsafeDisableDeepCopy); err != nil {
			b.Fatal(err)
		}
		running := 0
		for i := range pods.Items {
			if pods.Items[i].Status.Phase == corev1.PodRunning {
				running++
			}
		}
		if running >= want {
			return
		}
		select {
		case <-b.Context().Done():
			b.Fatalf("%d of %d pods run", running, want)
		case <-tick.C:
		}
	}
}
