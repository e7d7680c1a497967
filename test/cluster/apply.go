package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/restmapper"
	"sigs.k8s.io/yaml"
)

// Documents cuts YAML into its documents: at each "---" and, since some manifests
// lack that line, wherever a top-level apiVersion begins another object.
func Documents(text string) []string {
	var docs []string
	var doc []string
	versioned := false
	flush := func() {
		if joined := strings.Join(doc, "\n"); strings.TrimSpace(joined) != "" {
			docs = append(docs, joined)
		}
		doc, versioned = nil, false
	}
	for line := range strings.SplitSeq(text, "\n") {
		starts := strings.HasPrefix(line, "apiVersion:")
		if strings.HasPrefix(line, "---") || (starts && versioned) {
			flush()
		}
		if strings.HasPrefix(line, "---") {
			continue
		}
		versioned = versioned || starts
		doc = append(doc, line)
	}
	flush()
	return docs
}

// Apply applies manifests, files or folders of *.yaml, by server-side apply: CRDs
// first, and the rest, in order, when those are served.
func (c *Cluster) Apply(ctx context.Context, paths ...string) error {
	var objects []*unstructured.Unstructured
	for _, path := range paths {
		files := []string{path}
		if info, err := os.Stat(path); err == nil && info.IsDir() {
			if files, err = filepath.Glob(filepath.Join(path, "*.yaml")); err != nil {
				return fmt.Errorf("list %s: %w", path, err)
			}
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				return fmt.Errorf("read manifest: %w", err)
			}
			more, err := decode(string(text))
			if err != nil {
				return fmt.Errorf("%s: %w", file, err)
			}
			objects = append(objects, more...)
		}
	}
	return c.apply(ctx, "default", objects)
}

// ApplyYAML applies the documents of text; objects that name no namespace go to the given one.
func (c *Cluster) ApplyYAML(ctx context.Context, namespace, text string) error {
	objects, err := decode(text)
	if err != nil {
		return err
	}
	return c.apply(ctx, namespace, objects)
}

func decode(text string) ([]*unstructured.Unstructured, error) {
	objects := make([]*unstructured.Unstructured, 0, 1)
	for i, doc := range Documents(text) {
		o := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte(doc), &o.Object); err != nil {
			return nil, fmt.Errorf("document %d: %w", i+1, err)
		}
		objects = append(objects, o)
	}
	return objects, nil
}

func (c *Cluster) apply(ctx context.Context, namespace string, objects []*unstructured.Unstructured) error {
	client, err := dynamic.NewForConfig(c.rest)
	if err != nil {
		return fmt.Errorf("make client: %w", err)
	}
	var crds, rest []*unstructured.Unstructured
	for _, o := range objects {
		if o.GetKind() == "CustomResourceDefinition" {
			crds = append(crds, o)
		} else {
			rest = append(rest, o)
		}
	}
	for _, batch := range [][]*unstructured.Unstructured{crds, rest} {
		// A fresh mapper: the second batch may be of kinds that the first one made.
		mapper := restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(c.client.Discovery()))
		for _, o := range batch {
			if err := applyOne(ctx, client, mapper, namespace, o); err != nil {
				return fmt.Errorf("apply %s %s: %w", o.GetKind(), o.GetName(), err)
			}
		}
		for _, o := range crds {
			if err := poll(ctx, func(ctx context.Context) error { return established(ctx, client, o.GetName()) }); err != nil {
				return err
			}
		}
		crds = nil
	}
	return nil
}

func applyOne(ctx context.Context, client dynamic.Interface, mapper meta.RESTMapper, namespace string, o *unstructured.Unstructured) error {
	kind := o.GroupVersionKind()
	mapping, err := mapper.RESTMapping(kind.GroupKind(), kind.Version)
	if err != nil {
		return err
	}
	data, err := json.Marshal(o)
	if err != nil {
		return err
	}
	var target dynamic.ResourceInterface = client.Resource(mapping.Resource)
	if mapping.Scope.Name() == meta.RESTScopeNameNamespace {
		if o.GetNamespace() != "" {
			namespace = o.GetNamespace()
		}
		target = client.Resource(mapping.Resource).Namespace(namespace)
	}
	_, err = target.Patch(ctx, o.GetName(), types.ApplyPatchType, data, metav1.PatchOptions{FieldManager: "muster-cluster", Force: new(true)})
	return err
}

func established(ctx context.Context, client dynamic.Interface, name string) error {
	crds := schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}
	o, err := client.Resource(crds).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	conditions, _, err := unstructured.NestedSlice(o.Object, "status", "conditions")
	holds := func(kind string) bool {
		return slices.ContainsFunc(conditions, func(c any) bool {
			fields, ok := c.(map[string]any)
			return ok && fields["type"] == kind && fields["status"] == "True"
		})
	}
	if err == nil && holds("Established") && holds("NamesAccepted") {
		return nil
	}
	return errors.Join(fmt.Errorf("CRD %s is not served yet: %v", name, conditions), err)
}
