package main

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	schedulingv1beta1 "github.com/muster-sh/muster/apis/scheduling/v1beta1"
	"github.com/muster-sh/muster/pkg/controllers"
	"github.com/muster-sh/muster/test/cluster"
)

// watched is for how long a gang that can't fit is watched staying whole.
const watched = 2 * time.Second

// story is what the demo shows, in order.
type story struct {
	*cluster.Cluster
	client client.Client
	eyes   *observer
	screen *screen
	folder string // of the manifests
	rows   []row
}

func newStory(ctx context.Context, c *cluster.Cluster, sc *screen, folder string) (*story, error) {
	scheme, err := controllers.Scheme()
	if err != nil {
		return nil, err
	}
	cl, err := client.NewWithWatch(c.RESTConfig(), client.Options{Scheme: scheme})
	if err != nil {
		return nil, fmt.Errorf("make client: %w", err)
	}
	eyes, err := observe(ctx, cl)
	if err != nil {
		return nil, err
	}
	return &story{Cluster: c, client: cl, eyes: eyes, screen: sc, folder: folder}, nil
}

// note adds a line to the summary.
func (s *story) note(what string, took time.Duration, more string) {
	s.rows = append(s.rows, row{what, took, more})
}

func (s *story) tell(ctx context.Context) error {
	if err := s.speed(ctx); err != nil {
		return err
	}
	s.screen.title("Queues of two teams: ai-training may hold 32 GPUs, inference 8")
	if err := s.Apply(ctx, filepath.Join(s.folder, "queues.yaml")); err != nil {
		return err
	}
	s.screen.say("applied queues.yaml")
	s.screen.title("A PyTorchJob of a master and 3 workers, 8 GPUs each, in ai-training")
	submitted, err := s.submit(ctx, "pytorch-dist")
	if err != nil {
		return err
	}
	if err := s.runs(ctx, "pytorch-dist", 4, submitted, "from submit"); err != nil {
		return err
	}
	s.screen.title("Another one: %d nodes are free, but its queue is full", nodes-4)
	if err := s.waits(ctx, "pytorch-next", 4, "pytorch-dist"); err != nil {
		return err
	}
	s.screen.title("A job of 17 such pods in another queue: room for 16 of them would tempt")
	return s.waits(ctx, "pytorch-wide", 17, "pytorch-next")
}

// submit creates the job in the file of its name and returns the moment before.
func (s *story) submit(ctx context.Context, job string) (time.Time, error) {
	text, err := os.ReadFile(filepath.Join(s.folder, job+".yaml"))
	if err != nil {
		return time.Time{}, fmt.Errorf("read manifest: %w", err)
	}
	o := &unstructured.Unstructured{}
	if err := yaml.Unmarshal(text, &o.Object); err != nil {
		return time.Time{}, fmt.Errorf("%s.yaml: %w", job, err)
	}
	o.SetNamespace(namespace)
	begin := time.Now()
	if err := s.client.Create(ctx, o); err != nil {
		return begin, fmt.Errorf("create %s: %w", job, err)
	}
	return begin, nil
}

// shows returns what writes a gang's state on the live line.
func (s *story) shows(job string, pods int, since time.Time) func(gang) {
	return func(g gang) {
		phase := cmp.Or(string(g.phase), "none yet")
		milestone := fmt.Sprint(phase, g.made == pods, g.bound == pods, g.running == pods)
		s.screen.live(milestone, fmt.Sprintf("%-12s  PodGroup %-8s  pods %2d/%d  bound %2d/%d  running %2d/%d  %6s",
			job, phase, g.made, pods, g.bound, pods, g.running, pods, seconds(time.Since(since))))
	}
}

// runs follows a job until all its pods run.
func (s *story) runs(ctx context.Context, job string, pods int, since time.Time, from string) error {
	g, err := s.eyes.follow(ctx, job, s.shows(job, pods, since), func(g gang) bool {
		return g.running == pods && g.phase == schedulingv1beta1.PodGroupRunning
	})
	s.screen.settle()
	if err != nil {
		return err
	}
	bound, running := g.lastBound.Sub(since), g.lastRun.Sub(since)
	s.screen.say("all %d bound %s, all running %s %s", pods, seconds(bound), seconds(running), from)
	s.note(fmt.Sprintf("%s: all %d pods bound, %s", job, pods, from), bound, "all running after "+seconds(running))
	return nil
}

// waits submits a job that can't fit, sees that none of it is bound and why,
// makes room by deleting another job, and sees it run.
func (s *story) waits(ctx context.Context, job string, pods int, other string) error {
	submitted, err := s.submit(ctx, job)
	if err != nil {
		return err
	}
	var since time.Time
	g, err := s.eyes.follow(ctx, job, s.shows(job, pods, submitted), func(g gang) bool {
		if since.IsZero() && g.made == pods && g.refusal != "" {
			since = time.Now()
		}
		return !since.IsZero() && time.Since(since) > watched
	})
	s.screen.settle()
	if err != nil {
		return err
	}
	if g.mostBound != 0 {
		return fmt.Errorf("%s can't fit and yet %d of its %d pods were bound", job, g.mostBound, pods)
	}
	s.screen.say("watched for %s: 0 of %d pods bound. Why:", seconds(watched), pods)
	s.screen.say("  %s", wrap(g.refusal, 88))
	s.note(fmt.Sprintf("%s: refused with a reason", job), since.Sub(submitted), fmt.Sprintf("0 of %d pods bound", pods))

	s.screen.say("deleting %s makes room:", other)
	begin := time.Now()
	if err := s.remove(ctx, other); err != nil {
		return err
	}
	return s.runs(ctx, job, pods, begin, "from the other's deletion")
}

func (s *story) remove(ctx context.Context, job string) error {
	o := &unstructured.Unstructured{}
	o.SetAPIVersion("kubeflow.org/v1")
	o.SetKind("PyTorchJob")
	o.SetNamespace(namespace)
	o.SetName(job)
	if err := s.client.Delete(ctx, o, client.PropagationPolicy(metav1.DeletePropagationBackground)); err != nil {
		return fmt.Errorf("delete %s: %w", job, err)
	}
	return nil
}

// speed measures how long a gang of eight takes on the idle cluster. A first one,
// for which connections are opened, is not counted.
func (s *story) speed(ctx context.Context) error {
	const pods, times = 8, 5
	s.screen.title("How fast? A gang of %d pods on the idle cluster, %d times", pods, times)
	if _, err := s.once(ctx, "warm-up", pods); err != nil {
		return err
	}
	var took []time.Duration
	for i := range times {
		d, err := s.once(ctx, fmt.Sprintf("speed-%d", i), pods)
		if err != nil {
			return err
		}
		took = append(took, d)
		s.screen.live(fmt.Sprint(i), fmt.Sprintf("from submit to all %d bound: %s", pods, seconds(d)))
	}
	s.screen.settle()
	slices.Sort(took)
	median, slowest := took[times/2], took[times-1]
	s.screen.say("median %s, slowest %s", seconds(median), seconds(slowest))
	s.note(fmt.Sprintf("gang of %d: submit to all bound, median of %d", pods, times), median, "slowest "+seconds(slowest))
	return nil
}

// once submits a PodGroup with its pods, waits until all are bound, and removes them.
func (s *story) once(ctx context.Context, name string, pods int) (time.Duration, error) {
	group := &schedulingv1beta1.PodGroup{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec:       schedulingv1beta1.PodGroupSpec{MinMember: int32(pods), Queue: "default"},
	}
	begin := time.Now()
	if err := s.client.Create(ctx, group); err != nil {
		return 0, fmt.Errorf("create PodGroup %s: %w", name, err)
	}
	creations, inTime := errgroup.WithContext(ctx)
	for i := range pods {
		creations.Go(func() error { return s.client.Create(inTime, member(name, i)) })
	}
	if err := creations.Wait(); err != nil {
		return 0, fmt.Errorf("create pods of %s: %w", name, err)
	}
	g, err := s.eyes.follow(ctx, name, func(gang) {}, func(g gang) bool { return g.bound == pods })
	if err != nil {
		return 0, err
	}
	if err := s.client.Delete(ctx, group); err != nil {
		return 0, fmt.Errorf("delete PodGroup %s: %w", name, err)
	}
	for i := range pods {
		if err := s.client.Delete(ctx, member(name, i), client.GracePeriodSeconds(0)); err != nil {
			return 0, fmt.Errorf("delete pod of %s: %w", name, err)
		}
	}
	_, err = s.eyes.follow(ctx, name, func(gang) {}, func(g gang) bool { return g.made == 0 })
	return g.lastBound.Sub(begin), err
}

// member is a pod of a gang that takes a whole node's GPUs.
func member(gang string, i int) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: namespace, Name: fmt.Sprintf("%s-%d", gang, i),
			Annotations: map[string]string{schedulingv1beta1.GroupNameAnnotation: gang},
		},
		Spec: corev1.PodSpec{
			SchedulerName: "volcano",
			Containers: []corev1.Container{{
				Name: "main", Image: "trainer",
				Resources: corev1.ResourceRequirements{Limits: corev1.ResourceList{
					"nvidia.com/gpu": *resource.NewQuantity(gpusPerNode, resource.DecimalSI),
				}},
			}},
		},
	}
}
