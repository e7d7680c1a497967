package model_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/muster-sh/muster/pkg/model"
)

// TestImagesAreTraits: who rates nodes by their images must hear of a new one.
func TestImagesAreTraits(t *testing.T) {
	node := func(images ...string) model.NodeSpec {
		n := &corev1.Node{}
		for _, name := range images {
			n.Status.Images = append(n.Status.Images, corev1.ContainerImage{Names: []string{name}, SizeBytes: 1})
		}
		return model.NodeSpec{Name: "n", Object: n}
	}
	w := model.New()
	w.SetNode(node("a"))
	if _, traits := w.SetNode(node("a")); traits {
		t.Error("the same images are a change")
	}
	if _, traits := w.SetNode(node("a", "b")); !traits {
		t.Error("another image is no change")
	}
}
